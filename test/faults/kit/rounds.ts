import { audit } from './audit.ts';
import { chooseFault } from './faults.ts';
import { STEP_KINDS, type StepKind, type TaskScript } from './model.ts';
import type { OperatorAtWork } from './people.ts';
import { Random } from './random.ts';
import type { FaultWorld } from './world.ts';

/** Work that has not come to rest is stuck when nothing at all happened for so long; leases and pauses are well under this. */
const STUCK_MS = 90_000;
/** Longer than any round takes that gets on, however slow the machine. */
const REST_MS = 1_200_000;

/** What one round came to. */
export interface RoundReport {
  seed: number;
  tasks: string[];
  faults: string[];
  wrong: string[];
  tookMs: number;
}

/**
 * One round: some tasks are asked for and worked on, one to three faults are injected meanwhile, all work comes to rest, and
 * the audit looks at everything. Its seed gives the tasks, the faults and the operator's mind; when what happens is up to
 * the machine.
 */
export async function runRound(
  world: FaultWorld,
  operator: OperatorAtWork,
  seed: number,
  steps: readonly StepKind[] = STEP_KINDS,
): Promise<RoundReport> {
  const random = new Random(seed);
  const since = performance.now();
  const scripts = Array.from({ length: random.int(2, 4) }, (_, index) =>
    randomScript(random, `t${seed.toString(36)}x${index}`, steps),
  );
  const faults: string[] = [];
  world.model.faultPercent = random.pick([0, 0, 5, 15]);
  const wrong: string[] = [];
  try {
    const asking = Promise.all(scripts.map((script) => operator.ask(script)));
    // It is waited for below; a failure meanwhile must not end the run.
    asking.catch(() => {});
    for (let left = random.int(1, 3); left > 0; left--) {
      await new Promise((resolve) => setTimeout(resolve, random.int(0, 1_200)));
      const fault = chooseFault(random, world);
      faults.push(fault.name);
      await fault.inject(world);
    }
    await asking;
    world.model.faultPercent = 0;
    await atRest(world, operator);
    wrong.push(...(await world.steady(() => audit(world, operator))));
  } catch (error) {
    wrong.push(`the round broke off: ${error instanceof Error ? error.message : String(error)}`);
    wrong.push(...(await world.steady(() => underWay(world))));
  }
  wrong.push(...world.oddities.splice(0));
  return {
    seed,
    tasks: scripts.map(({ token, steps: list }) => `${token}: ${list.join(' ')}`),
    faults,
    wrong,
    tookMs: performance.now() - since,
  };
}

function randomScript(random: Random, token: string, steps: readonly StepKind[]): TaskScript {
  const list = Array.from({ length: random.int(1, 4) }, () => random.pick(steps));
  const goal = random.chance(0.5);
  // A task without a goal ends by words alone (T9): only one with a goal can be idle.
  const idle = random.weighted([
    [goal ? 12 : 0, 'idle'],
    [goal ? 8 : 0, 'stuck'],
    [80, undefined],
  ] as const);
  return { token, steps: idle === undefined ? list : [...list, idle], goal };
}

/** Waits until nothing is under way any more: every task has ended, and all that was to be said was said. */
export async function atRest(world: FaultWorld, operator: OperatorAtWork): Promise<void> {
  const { database, matrix } = world;
  let last = '';
  let since = performance.now();
  let quietAt: { mark: string; looks: number } | undefined;
  await world.until('all work is at rest', REST_MS, async () => {
    const [row] = await database.read.$queryRaw<Array<{ busy: bigint; mark: string }>>`
      SELECT (SELECT count(*) FROM sessions WHERE ended_at IS NULL)
        + (SELECT count(*) FROM passes WHERE state IN ('queued', 'running'))
        + (SELECT count(*) FROM executions WHERE status IN ('requested', 'pending_approval', 'approved', 'queued', 'running'))
        + (SELECT count(*) FROM matrix_inbox WHERE state = 'pending')
        + (SELECT count(*) FROM matrix_outbox WHERE state = 'pending') AS busy,
        concat_ws(' ', (SELECT max(id) FROM events), (SELECT max(sent_at) FROM matrix_outbox),
          (SELECT value FROM matrix_state WHERE key = 'projector')) AS mark`;
    if (row !== undefined && row.mark !== last) {
      last = row.mark;
      since = performance.now();
    }
    if (performance.now() - since > STUCK_MS && (row?.busy ?? 1n) > 0n)
      throw new Error(`stuck: nothing has happened for ${STUCK_MS / 1000} s`);
    const quiet =
      row?.busy === 0n &&
      (matrix === undefined || ((await heard(world, operator)) && (await drawn(world)))) &&
      // A process that is just being started may still find something.
      world.processes.every((one) => one.up);
    // Looked at one after another: only if a later look finds all of it as it was, nothing came up in between; nor does the operator
    // add anything, who has looked themselves meanwhile, from beginning to end.
    if (!quiet || quietAt?.mark !== last) {
      quietAt = quiet ? { mark: last, looks: operator.looks } : undefined;
      return undefined;
    }
    return operator.looks >= quietAt.looks + 2 ? true : undefined;
  });
}

/** What is not at rest, in words. */
export async function underWay({ database, processes }: FaultWorld): Promise<string[]> {
  const rows = await database.read.$queryRaw<Array<{ what: string }>>`
    SELECT 'task ' || short_id || ' ' || status || coalesce(' paused: ' || paused_reason, '') AS what FROM sessions WHERE ended_at IS NULL
    UNION ALL SELECT 'pass ' || id || ' ' || state || ' ' || cause || ' attempt ' || attempt || coalesce(' ' || lease_owner, '')
      || coalesce(' not before ' || not_before, '') || ' ' || coalesce(error::text, '')
      FROM passes WHERE session_id IN (SELECT id FROM sessions WHERE ended_at IS NULL)
    UNION ALL SELECT 'execution ' || short_id || ' ' || purpose || ' ' || status || ' ' || continuation || coalesce(' ' || lease_owner, '')
      || coalesce(' until ' || lease_until, '')
      FROM executions WHERE session_id IN (SELECT id FROM sessions WHERE ended_at IS NULL)
    UNION ALL SELECT 'inbox ' || event_id || ' ' || type || ' ' || attempts FROM matrix_inbox WHERE state = 'pending'
    UNION ALL SELECT 'outbox ' || id || ' ' || kind || ' ' || coalesce(card_key, '') || ' ' || attempts || ' ' || coalesce(error, '')
      FROM matrix_outbox WHERE state = 'pending'`;
  return [
    ...rows.map(({ what }) => what),
    ...processes.map((one) => `${one.name}: ${one.up ? 'up' : one.alive ? 'starting' : 'down'}`),
  ];
}

/** Whether everything that was said in rooms has come in and was worked on. */
async function heard({ database }: FaultWorld, operator: OperatorAtWork): Promise<boolean> {
  const said = [...operator.asked, ...operator.said];
  return (
    (await database.read.matrixInbox.count({
      where: { eventId: { in: said }, state: { not: 'pending' } },
    })) === said.length
  );
}

/** Whether every event has been drawn. */
async function drawn({ database }: FaultWorld): Promise<boolean> {
  const [row] = await database.read.$queryRaw<Array<{ behind: boolean }>>`
    SELECT coalesce((SELECT max(id) FROM events), 0) >
      coalesce((SELECT (value->>'cursor')::bigint FROM matrix_state WHERE key = 'projector'), 0) AS behind`;
  return row?.behind === false;
}
