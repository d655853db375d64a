import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Readable } from 'node:stream';
import { vi } from 'vitest';
import { main } from '../../core/main.ts';

const MAIN = fileURLToPath(new URL('../../core/main.ts', import.meta.url));

/** What a command of the command line came to. */
export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs `nomos <args>` as a process of its own, in a folder without a `.env`, with nothing in its environment but PATH and
 * what is given.
 */
export async function nomos(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<CliResult> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { PATH: process.env['PATH'], NOMOS_LOG_LEVEL: 'fatal', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** The same in this process, for the many ways in which it can be called wrongly. */
export async function nomosHere(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<CliResult> {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  let stdout = '';
  let stderr = '';
  try {
    const code = await main(args, {
      stdin: Readable.from([]),
      stdout: { write: (text: string) => (stdout += text) },
      stderr: { write: (text: string) => (stderr += text) },
    });
    return { code, stdout, stderr };
  } finally {
    vi.unstubAllEnvs();
  }
}
