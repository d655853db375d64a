/**
 * `npm test`: the checks that need no service, then all tests. With arguments it is vitest alone, with those arguments:
 * `npm test -- --project unit`, `npm test -- test/e2e/first-path.test.ts`. The last line counts what passed and failed.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Totals } from './reporter.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'nomos-test-'));
const totalsFile = join(folder, 'totals.json');
const args = process.argv.slice(2);
let stopped = false;

process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

function run(
  command: string,
  commandArgs: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, commandArgs, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...env },
    });
    const pass = (signal: NodeJS.Signals): void => {
      stopped = true;
      child.kill(signal);
    };
    process.on('SIGINT', pass);
    process.on('SIGTERM', pass);
    child.once('error', reject);
    child.once('close', (code) => {
      process.off('SIGINT', pass);
      process.off('SIGTERM', pass);
      resolve(code ?? 1);
    });
  });
}

function readTotals(): Totals | undefined {
  if (!existsSync(totalsFile)) return undefined;
  return JSON.parse(readFileSync(totalsFile, 'utf8')) as Totals;
}

let [passed, failed, skipped] = [0, 0, 0];
if (args.length === 0) {
  if ((await run('npm', ['run', '--silent', 'check:static'])) === 0) passed++;
  else failed++;
}
if (!stopped) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'reporter.ts')}`];
  // What clients write to the console is shown for tests that fail only.
  const code = await run(
    process.execPath,
    [vitest, 'run', '--silent=passed-only', ...reporters, ...args],
    {
      NOMOS_TEST_TOTALS: totalsFile,
    },
  );
  const totals = readTotals();
  passed += totals?.passed ?? 0;
  failed += totals?.failed ?? 0;
  skipped += totals?.skipped ?? 0;
  // A run that broke off, or failed for a reason that is no test, is never a success.
  if (totals === undefined || (code !== 0 && totals.failed === 0)) failed++;
}
if (stopped) failed++;
const line = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
const summaryFile = process.env['NOMOS_TEST_SUMMARY'];
if (summaryFile !== undefined) writeFileSync(summaryFile, `${line}\n`);
process.stdout.write(`${line}\n`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
