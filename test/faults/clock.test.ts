import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decide } from '../../core/approvals/decide.ts';
import { settleAfterClockJump } from '../../core/clock-jumps.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import type { ApprovalId, ExecutionId } from '../../core/ids.ts';
import { closeEndedGrants } from '../../core/policy/ended-grants.ts';
import { migrate } from '../../prisma/migrate.ts';
import { ann, CoreWorld, type TestTask } from '../support/core-world.ts';
import { findFaketime } from '../support/fake-clock.ts';
import { HurtServices } from './kit/services.ts';

const missing =
  findFaketime() === undefined
    ? 'libfaketime is not installed (Debian: apt-get install libfaketime)'
    : undefined;
const MINUTE_S = 60;

describe.skipIf(missing !== undefined)(
  `the database's own clock is moved${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    let services: HurtServices;
    let world: CoreWorld;
    beforeAll(async () => {
      services = await HurtServices.start();
      const url = await services.database('clock');
      await migrate(url);
      world = await CoreWorld.open(url);
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
      await services.stop();
    });

    /** Moves the clock and waits until the database goes by it. */
    async function move(minutes: number): Promise<void> {
      services.clock?.set(minutes * MINUTE_S);
      for (;;) {
        const [{ off }] = await world.database.read.$queryRaw<[{ off: number }]>`
          SELECT extract(epoch FROM clock_timestamp())::float8 - ${Date.now() / 1000}::float8 AS off`;
        if (Math.abs(off - minutes * MINUTE_S) < 30) return;
        // The library looks at its file once a second.
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }

    async function change(
      task: TestTask,
      command: string,
      target = 'host:a',
    ): Promise<{ kind: string; id: ExecutionId }> {
      const outcome = await world.request(task, target, command);
      return { kind: outcome.kind, id: outcome.executionId };
    }

    async function approve(id: ExecutionId, confirmed = false): Promise<void> {
      const row = await world.database.read.execution.findUniqueOrThrow({ where: { id } });
      await world.database.write((unit) =>
        decide(unit, {
          approvalId: row.approvalId as ApprovalId,
          verdict: 'approve',
          operator: ann,
          means: confirmed ? 'confirmation' : 'tap',
          typedConfirmation: confirmed,
          eventId: `$${id}`,
        }),
      );
    }

    test('R14, A9: forward by an hour: the grant is over, for what is asked and for what was queued; back again: it stays over', async () => {
      const task = await world.task();
      await approve((await change(task, 'touch /a')).id);
      const queued = await change(task, 'touch /b');
      expect(queued.kind).toBe('queued');
      await move(60);
      expect((await claimExecution(world.database, queued.id, 'worker')).kind).toBe('asked_again');
      expect((await change(task, 'touch /c')).kind).toBe('waiting');
      expect(await closeEndedGrants(world.database)).toBe(1);
      await move(0);
      expect((await change(task, 'touch /d')).kind).toBe('waiting');
    });

    test('R14, A10: back by an hour: no grant lasts longer than its time, on the task or on the one target', async () => {
      const task = await world.task();
      await approve((await change(task, 'rm -rf /srv/a')).id, true);
      expect((await change(task, 'touch /e')).kind).toBe('queued');
      expect((await change(task, 'rm -rf /srv/b')).kind).toBe('queued');
      expect((await change(task, 'rm -rf /srv/c', 'host:b')).kind).toBe('waiting');
      await move(-60);
      await settleAfterClockJump(world.database);
      // 16 minutes on: the grant of 15 is over, that of 30 is not.
      await move(-44);
      expect((await change(task, 'rm -rf /srv/d')).kind).toBe('waiting');
      expect((await change(task, 'touch /f')).kind).toBe('queued');
      await move(-28);
      expect((await change(task, 'touch /g')).kind).toBe('waiting');
      await move(0);
    });
  },
);
