import { Buffer } from 'node:buffer';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import type {
  Captured,
  CommandTarget,
  HostKeyStore,
  PinnedKey,
  RemoteRunner,
  RunEnd,
  RunRequest,
} from '../../core/executions/ports.ts';
import {
  createRemoteRunner,
  type RemoteRunnerOptions,
} from '../../core/executions/remote/runner.ts';
import { newId } from '../../core/ids.ts';
import type { TestSshd } from './sshd.ts';

/** Host keys in memory, in place of the database. */
export class MemoryHostKeys implements HostKeyStore {
  readonly keys = new Map<string, PinnedKey>();

  get(host: { slug: string }): Promise<PinnedKey | null> {
    return Promise.resolve(this.keys.get(host.slug) ?? null);
  }

  pin(host: { slug: string }, key: PinnedKey): Promise<void> {
    if (!this.keys.has(host.slug)) this.keys.set(host.slug, key);
    return Promise.resolve();
  }
}

/** A runner for a test server, with short times so that tests need not wait. */
export function runnerFor(
  server: TestSshd,
  options: Partial<RemoteRunnerOptions> = {},
): RemoteRunner {
  return createRemoteRunner({
    credentials: { keyFile: server.keyFile },
    hostKeys: new MemoryHostKeys(),
    graceMs: 400,
    ...options,
  });
}

/** A request with what most tests need; the id is new. */
export function request(
  server: TestSshd,
  command: string,
  more: Partial<RunRequest> = {},
): RunRequest {
  return {
    executionId: newId(),
    target: { host: server.endpoint },
    command,
    kind: 'change',
    timeoutMs: 30_000,
    ...more,
  };
}

/** A container of a test server as a target. */
export function container(server: TestSshd, pveId: number): CommandTarget {
  return { host: server.endpoint, container: { slug: `ct-${pveId}`, pveId } };
}

/** Captured output as text. */
export function text(captured: Captured): string {
  return Buffer.from(captured.bytes).toString();
}

/** An end that has output, with it as text; fails the test for one that has none. */
export function told(end: RunEnd): {
  kind: RunEnd['kind'];
  stdout: string;
  stderr: string;
  exitCode: number | undefined;
} {
  if (end.kind === 'not_started') throw end.error;
  return {
    kind: end.kind,
    stdout: text(end.stdout),
    stderr: text(end.stderr),
    exitCode: end.kind === 'exited' ? end.exitCode : undefined,
  };
}

/** Adds to a request that its output is watched, and resolves once `marker` has come. */
export function watched(
  base: RunRequest,
  marker: string,
): { request: RunRequest; seen: Promise<void> } {
  let all = '';
  let found: () => void = () => {};
  const seen = new Promise<void>((resolve) => (found = resolve));
  return {
    seen,
    request: {
      ...base,
      onOutput: (stream, chunk) => {
        all += Buffer.from(chunk).toString('latin1');
        if (all.includes(marker)) found();
        base.onOutput?.(stream, chunk);
      },
    },
  };
}

/** Why no BusyBox container can be made here; undefined if one can. */
export function busyboxMissing(): string | undefined {
  if (userInfo().uid !== 0) return 'a root file system can be entered by root only';
  if (!existsSync('/bin/busybox') && !existsSync('/usr/bin/busybox'))
    return 'busybox is not installed';
  return undefined;
}

/** Makes a container whose root file system holds BusyBox and nothing else, as small as Alpine's. */
export function addBusyboxContainer(server: TestSshd, pveId: number): string {
  const root = path.join(server.addContainer(pveId), 'root');
  const busybox = existsSync('/bin/busybox') ? '/bin/busybox' : '/usr/bin/busybox';
  for (const folder of ['bin', 'proc', 'root', 'dev', 'tmp', 'usr/bin'])
    mkdirSync(path.join(root, folder), { recursive: true });
  copyFileSync(busybox, path.join(root, 'bin/busybox'));
  for (const [library] of libraries(busybox).matchAll(/\/\S+/g)) {
    mkdirSync(path.join(root, path.dirname(library)), { recursive: true });
    copyFileSync(library, path.join(root, library));
  }
  for (const applet of execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n')) {
    if (applet !== '' && applet !== 'busybox')
      symlinkSync('busybox', path.join(root, 'bin', applet));
  }
  execFileSync('mknod', ['-m', '666', path.join(root, 'dev/null'), 'c', '1', '3']);
  execFileSync('mknod', ['-m', '666', path.join(root, 'dev/zero'), 'c', '1', '5']);
  return root;
}

function libraries(program: string): string {
  try {
    return execFileSync('ldd', [program], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).replaceAll(/\(0x[0-9a-f]+\)/g, '');
  } catch {
    // A static program has none.
    return '';
  }
}

/** Waits until something is so, for at most `limitMs`; fails with `what` otherwise. */
export async function until(
  what: string,
  condition: () => boolean,
  limitMs = 45_000,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`Waited ${limitMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

let marks = 0;

/** A number of seconds to sleep that no other process sleeps, to find a command's processes by. */
export function sleepMark(): string {
  marks += 1;
  return `7${process.pid}${marks}`;
}
