import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError, systemCode } from '../services/errors.ts';

const here = dirname(fileURLToPath(import.meta.url));
const STAMP = 'built-from';

/**
 * Builds the chat page into `<home>/chat`, unless it is there already for these sources and packages.
 *
 * @returns the folder with `index.html`
 */
export async function buildChatPage(home: string): Promise<string> {
  const folder = join(home, 'chat');
  const wanted = fingerprint();
  if (stampOf(folder) === wanted) return folder;
  const draft = `${folder}.${process.pid}`;
  try {
    await runVite(draft);
    writeFileSync(join(draft, STAMP), wanted);
    // Another start may build at the same time: whichever is moved last is whole and the same.
    rmSync(folder, { recursive: true, force: true });
    try {
      renameSync(draft, folder);
    } catch (error) {
      if (systemCode(error) !== 'ENOTEMPTY' && systemCode(error) !== 'EEXIST') throw error;
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

function stampOf(folder: string): string | undefined {
  const path = join(folder, STAMP);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

function fingerprint(): string {
  const hash = createHash('sha256');
  for (const name of ['hydrogen-view-sdk', 'vite']) hash.update(`${name} ${versionOf(name)}\n`);
  hash.update(readFileSync(join(here, 'vite.ts')));
  for (const file of readdirSync(join(here, 'src')).toSorted()) {
    hash.update(`${file}\n`).update(readFileSync(join(here, 'src', file)));
  }
  return hash.digest('hex');
}

function versionOf(name: string): string {
  const require = createRequire(import.meta.url);
  for (const folder of require.resolve.paths(name) ?? []) {
    const manifest = join(folder, name, 'package.json');
    if (!existsSync(manifest)) continue;
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
  }
  throw new SetupError(
    'setup_packages_missing',
    `The optional package ${name}, of which the chat page is made, is not installed: install it with \`npm ci --include=optional\`, or use Element with the embedded homeserver.`,
  );
}

function runVite(outDir: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(here, 'vite.ts'), outDir], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => (output += String(data)));
    }
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) return resolve();
      reject(
        new SetupError(
          'setup_service_failed',
          `The chat page could not be built:\n${output.trim()}`,
        ),
      );
    });
  });
}
