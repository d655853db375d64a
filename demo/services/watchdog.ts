/**
 * Ends embedded services whose owner was killed. It is told of each service by a line on its standard input, which
 * closes when the owner ends, however that happens; a service that is gone by then needs nothing.
 */
import { createInterface } from 'node:readline';
import { endProcess } from './end-process.ts';
import type { KnownProcess } from './end-process.ts';

const known: KnownProcess[] = [];

// Whoever ends the owner politely lets it stop its services itself, in their order.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => known.push(JSON.parse(line) as KnownProcess));
lines.on('close', () => {
  void Promise.allSettled(known.map((service) => endProcess(service))).then(() => process.exit(0));
});
