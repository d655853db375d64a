/** A worker as a process of its own, for tests that kill it at a fault point: runs one command as told by `WORKER`. */
import { z } from 'zod';
import { createRemoteRunner } from '../../core/executions/remote/runner.ts';
import { MemoryHostKeys } from './remote.ts';

const told = z
  .object({
    endpoint: z.object({
      slug: z.string(),
      address: z.string(),
      port: z.number(),
      user: z.string(),
    }),
    keyFile: z.string(),
    id: z.string(),
    command: z.string(),
  })
  .parse(JSON.parse(process.env['WORKER'] ?? '{}'));
const runner = createRemoteRunner({
  credentials: { keyFile: told.keyFile },
  hostKeys: new MemoryHostKeys(),
});
await runner.run({
  executionId: told.id,
  target: { host: told.endpoint },
  command: told.command,
  kind: 'change',
  timeoutMs: 30_000,
});
await runner.close();
