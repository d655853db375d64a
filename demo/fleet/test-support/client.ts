import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  CommandTarget,
  HostKeyStore,
  PinnedKey,
  RemoteRunner,
  RunEnd,
  RunRequest,
} from '../../../core/executions/ports.ts';
import { createRemoteRunner } from '../../../core/executions/remote/runner.ts';
import { startDemoFleet } from '../index.ts';
import type { DemoFleet, DemoFleetOptions } from '../index.ts';

/** A fleet for tests, fast, with the program's own runner to talk to it. */
export interface TestFleet {
  readonly fleet: DemoFleet;
  readonly home: string;
  readonly runner: RemoteRunner;
  target(host: string, container?: { name: string; pveId: number }): CommandTarget;
  run(host: string, command: string, more?: Partial<RunRequest>): Promise<Ran>;
  end(): Promise<void>;
}

/** What a command said, as text. */
export interface Ran {
  readonly end: RunEnd;
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | undefined;
}

/** Starts one; `end` stops it and removes its folder unless the folder was given. */
export async function testFleet(options: Partial<DemoFleetOptions> = {}): Promise<TestFleet> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'fleet-'));
  const fleet = await startDemoFleet({ pace: 0.02, ...options, home });
  const runner = createRemoteRunner({
    credentials: { keyFile: fleet.privateKeyPath },
    knownHostsFile: fleet.knownHostsPath,
    hostKeys: memoryKeys(),
  });
  const target: TestFleet['target'] = (host, container) => ({
    host: {
      slug: `host:${host}`,
      address: '127.0.0.1',
      port: fleet.hosts.find(({ slug }) => slug === `host:${host}`)?.port ?? 0,
      user: 'root',
    },
    ...(container && { container: { slug: `lxc:${container.name}`, pveId: container.pveId } }),
  });
  return {
    fleet,
    home,
    runner,
    target,
    run: async (host, command, more = {}) => {
      const end = await runner.run({
        executionId: randomUUID(),
        target: target(host),
        command,
        kind: 'change',
        timeoutMs: 20_000,
        ...more,
      });
      return ran(end);
    },
    end: async () => {
      await runner.close();
      await fleet.stop();
      if (options.home === undefined) rmSync(home, { recursive: true });
    },
  };
}

/** The texts of an end. */
export function ran(end: RunEnd): Ran {
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
  return {
    end,
    stdout: 'stdout' in end ? text(end.stdout.bytes) : '',
    stderr: 'stderr' in end ? text(end.stderr.bytes) : '',
    exitCode: end.kind === 'exited' ? end.exitCode : undefined,
  };
}

function memoryKeys(): HostKeyStore {
  const keys = new Map<string, PinnedKey>();
  return {
    get: (host) => Promise.resolve(keys.get(host.slug) ?? null),
    pin: (host, key) => {
      if (!keys.has(host.slug)) keys.set(host.slug, key);
      return Promise.resolve();
    },
  };
}
