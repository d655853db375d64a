/**
 * A throw-away world for commands: its own mount, process and network namespaces, the machine's root below an overlay in memory,
 * a read-only /proc, an empty /dev, few capabilities, a limit on processes, a time limit. What a command changes lands in the
 * overlay and is seen. It takes root: without, the machine's files cannot be laid below an overlay (its mounts are locked).
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PINNED_ENV } from '../environment.ts';
import { makeProcessLimit, PROCESS_LIMIT } from './process-limit.ts';

const NAMESPACES = [
  '--mount',
  '--pid',
  '--net',
  '--ipc',
  '--uts',
  '--fork',
  '--kill-child',
  '--propagation',
  'private',
];

/** Why there can be no sandbox here; undefined when there can. */
export function sandboxMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'it takes root to lay an overlay over the machine';
  const limit = makeProcessLimit();
  limit?.free();
  if (!limit) return 'no limit on processes: Linux before 6.14, and no pids cgroup can be made';
  const tried = spawnSync(
    'unshare',
    [...NAMESPACES, 'sh', '-c', 'command -v setpriv chroot timeout >/dev/null'],
    { encoding: 'utf8' },
  );
  if (tried.error) return `no unshare: ${tried.error.message}`;
  return tried.status === 0 ? undefined : `namespaces are not allowed here: ${tried.stderr.trim()}`;
}

/** Makes the world and starts the runner inside it, with the pinned environment and few capabilities. */
const DRIVER = String.raw`
set -eu
world=$1; runner=$2; limit=$3; most=$4; shift 4
mount -t tmpfs none "$world"
mkdir "$world/upper" "$world/work" "$world/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$world/upper,workdir=$world/work" "$world/root"
cd "$world/root"
rm -rf srv; mkdir -p srv/d .changed
for f in a b c.txt d/e; do printf 'one 1\ntwo 2\nthree 3\n' > "srv/$f"; done
mount --bind -o ro "$world/upper" .changed
mount -t proc none proc
if [ "$limit" = pid_max ]; then echo "$most" > proc/sys/kernel/pid_max; else echo 0 > "$limit/cgroup.procs"; fi
mount -o remount,ro,bind proc
mount -t tmpfs none dev
mknod -m 666 dev/null c 1 3; mknod -m 666 dev/zero c 1 5; mknod -m 666 dev/urandom c 1 9
ln -s /proc/self/fd dev/fd; ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
exec chroot . /usr/bin/setpriv --no-new-privs --inh-caps=-all \
  --bounding-set=-all,+dac_override,+chown,+fowner,+fsetid,+kill \
  /usr/bin/env -i -C /srv "$@" /bin/bash --noprofile --norc -c "$runner"
`;

/**
 * Runs each command that comes in and says its place and what changed. /tmp itself may change: programs keep scratch files
 * there. What a command leaves running is ended before the next (the runner is the first process of its namespace).
 */
const RUNNER = String.raw`
state() { find /.changed -mindepth 1 -not -path /.changed/tmp -printf '%P %y %s %i %T@ %m\n'; }
before=$(state)
number=0
while IFS= read -r -d '' command; do
  timeout -s KILL 3 bash --noprofile --norc -c "$command" </dev/null >/dev/null 2>&1
  kill -KILL -1 2>/dev/null || true
  after=$(state)
  if [ "$after" != "$before" ]; then
    changed=$(diff <(echo "$before" | sort) <(echo "$after" | sort) | sed -n 's/^[<>] \([^ ]*\).*/\1/p' | sort -u | tr '\n' ' ')
    printf '%s\t%s\n' "$number" "$changed"
    before=$after
  fi
  number=$((number + 1))
done
printf 'end\t%s\n' "$number"
`;

/** Runs commands one after another in one sandbox. The answer: what each changed, by its place; nothing for most. */
export async function changesIn(
  commands: readonly string[],
  limit = makeProcessLimit(),
): Promise<Map<number, string>> {
  if (!limit) throw new Error('no sandbox without a limit on processes');
  const world = mkdtempSync(join(tmpdir(), 'nomos-sandbox-'));
  try {
    const environment = Object.entries({
      ...PINNED_ENV,
      HOME: '/root',
      USER: 'root',
      LOGNAME: 'root',
    });
    const child = spawn(
      'unshare',
      [
        ...NAMESPACES,
        'bash',
        '-c',
        DRIVER,
        'driver',
        world,
        RUNNER,
        limit.word,
        `${PROCESS_LIMIT}`,
        ...environment.map(([name, value]) => `${name}=${value}`),
      ],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
    child.stdin.on('error', () => undefined); // the driver ended early; its own words follow below
    child.stdin.end(commands.map((command) => `${command}\0`).join(''));
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const lines = out
      .trim()
      .split('\n')
      .map((line) => line.split('\t'));
    if (lines.at(-1)?.[0] !== 'end' || Number(lines.at(-1)?.[1]) !== commands.length) {
      throw new Error(`the sandbox ended early: ${err}`);
    }
    return new Map(
      lines.slice(0, -1).map(([at = '', changed = '']) => [Number(at), changed.trim()]),
    );
  } finally {
    rmSync(world, { recursive: true, force: true });
    limit.free();
  }
}

async function text(stream: AsyncIterable<unknown>): Promise<string> {
  let all = '';
  for await (const chunk of stream) all += String(chunk);
  return all;
}
