import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { buildFleet } from './fleet.ts';
import type { FleetCommand } from './ssh/session.ts';
import { serveHost } from './ssh/server.ts';

/** What the fleet's thread is started with; `ports` by slug, where 0 means any. */
export const workerInput = z.strictObject({
  pace: z.number().min(0.001).max(10),
  clientKey: z.string(),
  hosts: z.array(
    z.strictObject({ slug: z.string(), hostKey: z.string(), port: z.int(), exact: z.boolean() }),
  ),
});

/** What the fleet's thread says. */
export type WorkerMessage =
  | { readonly type: 'ready'; readonly ports: readonly (readonly [string, number])[] }
  | { readonly type: 'taken'; readonly slug: string; readonly port: number }
  | { readonly type: 'command'; readonly command: FleetCommand };

// The fleet has a thread of its own so that a shell that is busy holds up neither the bot nor its timers, and so that its
// memory can be bounded.
const input = workerInput.parse(workerData);
const say = (message: WorkerMessage): void => parentPort?.postMessage(message);
const fleet = buildFleet(input.pace);
const ports: [string, number][] = [];
for (const { slug, hostKey, port, exact } of input.hosts) {
  const host = fleet.hosts.find((candidate) => candidate.slug === slug);
  if (!host) throw new Error(`The demo fleet has no machine ${slug}.`);
  try {
    const server = await serveHost({
      host,
      hostKey,
      clientKey: input.clientKey,
      port,
      exact,
      onCommand: (command) => say({ type: 'command', command }),
    });
    ports.push([slug, server.port]);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    say({ type: 'taken', slug, port });
  }
}
say({ type: 'ready', ports });
