/** Programs of the system that tests run against. As root on Debian they are installed; elsewhere it is said how. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupFailure } from './setup-failure.mjs';
import { runStep } from './steps.mjs';

const logFile = fileURLToPath(new URL('../../.nomos/logs/apt.log', import.meta.url));

const program = (...names) => {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/sbin',
    '/sbin',
    '/usr/local/sbin',
  ];
  return names.some((name) =>
    folders.some((folder) => folder !== '' && existsSync(join(folder, name))),
  );
};

/**
 * `needed`: without it the tests cannot run at all; else those that want it say that they are skipped.
 *
 * @type {{package: string, use: string, needed: boolean, isThere: () => boolean}[]}
 */
const TOOLS = [
  {
    package: 'openssh-server',
    use: 'executions run over the real sshd',
    needed: true,
    isThere: () => program('sshd'),
  },
  {
    package: 'python3-venv',
    use: 'the homeserver runs in a Python environment',
    needed: true,
    isThere: () =>
      spawnSync('python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' }).status === 0,
  },
  {
    package: 'busybox',
    use: 'the remote wrapper is tried in the shell of Alpine',
    needed: false,
    isThere: () => program('busybox'),
  },
  {
    package: 'iproute2',
    use: 'links are cut between network namespaces',
    needed: false,
    isThere: () => program('ip'),
  },
  {
    package: 'libfaketime',
    use: 'clocks are moved',
    needed: false,
    isThere: () =>
      existsSync('/usr/lib') &&
      readdirSync('/usr/lib').some((folder) =>
        existsSync(join('/usr/lib', folder, 'faketime', 'libfaketime.so.1')),
      ),
  },
  {
    package: 'chromium',
    use: 'the chat page is tried in a browser',
    needed: false,
    isThere: () => program('chromium', 'chromium-browser', 'google-chrome'),
  },
  {
    package: 'fonts-noto-color-emoji',
    use: 'the browser shows emoji',
    needed: false,
    isThere: () => existsSync('/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf'),
  },
];

/**
 * @param {import('./steps.mjs').Progress} progress
 */
export async function ensureSystemTools(progress) {
  const missing = TOOLS.filter((tool) => !tool.isThere());
  if (missing.length === 0) return;
  const names = missing.map((tool) => tool.package);
  if (process.getuid?.() === 0 && program('apt-get')) {
    await progress.run(`Installing ${names.join(', ')} for the tests`, () =>
      withoutServices(() => install(names)),
    );
  }
  const still = missing.filter((tool) => !tool.isThere());
  const needed = still.filter((tool) => tool.needed);
  const list = (tools) => tools.map((tool) => `${tool.package} (${tool.use})`).join(', ');
  if (needed.length > 0) {
    throw new SetupFailure(
      `The tests need ${list(needed)}. On Debian or Ubuntu: \`apt-get install ${needed.map((tool) => tool.package).join(' ')}\`. Without them: \`npm test -- --project unit\`.`,
    );
  }
  if (still.length > 0) {
    process.stderr.write(`nomos: some tests will be skipped for want of ${list(still)}.\n`);
  }
}

async function install(names) {
  const apt = (what, ...args) =>
    runStep({
      what,
      command: 'apt-get',
      args: ['-q', '-o', 'DPkg::Lock::Timeout=120', ...args],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      logFile,
      wayOut: `Install ${names.join(' ')} yourself, then start again.`,
    });
  await apt('Reading the lists of Debian packages', 'update');
  await apt('Installing Debian packages', 'install', '-y', '--no-install-recommends', ...names);
}

const POLICY = '/usr/sbin/policy-rc.d';
const MARK = '# made by Nomos while it installs packages for its tests';

/** Debian starts a service when its package is installed, unless this file says no. */
async function withoutServices(work) {
  // One that a killed run of ours left behind is ours to remove as well.
  const isOurs = existsSync(POLICY) && readFileSync(POLICY, 'utf8').includes(MARK);
  const isNew = !existsSync(POLICY);
  if (isNew) writeFileSync(POLICY, `#!/bin/sh\n${MARK}\nexit 101\n`, { mode: 0o755 });
  try {
    await work();
  } finally {
    if (isNew || isOurs) rmSync(POLICY, { force: true });
  }
}
