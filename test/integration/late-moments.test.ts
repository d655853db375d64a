import { afterEach, expect, test } from 'vitest';
import { createHandler } from '../../bot/handlers/index.ts';
import { Projector } from '../../bot/projector/projector.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { createMasker } from '../../core/executions/masking/masker.ts';
import type { RunEnd, RunRequest } from '../../core/executions/ports.ts';
import { resumeExecution } from '../../core/executions/run.ts';
import { asId, type ExecutionId, type SessionId, type UserId } from '../../core/ids.ts';
import { endFailed } from '../../core/agent/ends.ts';
import { NomosError } from '../../core/errors.ts';
import { newId, type PassId } from '../../core/ids.ts';
import { claimPass } from '../../core/tasks/passes.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { addSchedule, runDueSchedules } from '../../core/tasks/schedules.ts';
import { receiveMessage } from '../../core/tasks/messages.ts';
import { ANN, BotWorld, LOBBY } from '../support/bot-world.ts';
import { ann, CoreWorld } from '../support/core-world.ts';

let open: Array<{ close(): Promise<void> }> = [];
afterEach(async () => {
  for (const one of open) await one.close();
  open = [];
});

async function botWorld(more: { mask?: (text: string) => string } = {}): Promise<BotWorld> {
  const world = await BotWorld.open();
  open.push(world);
  world.projector = new Projector({
    database: world.database,
    feed: world.feed,
    operators: world.operators,
    timeZone: 'UTC',
    streaming: false,
    ...more,
  });
  world.handler = createHandler({
    operators: world.operators,
    languages: ['en'],
    botUserId: asId<UserId>('@nomos:example.org'),
    botName: 'Nomos',
    timeZone: 'UTC',
  });
  return world;
}

async function waitingChange(world: BotWorld): Promise<{ executionId: string; key: string }> {
  const { requestExecution } = await import('../../core/executions/request.ts');
  const session = await world.database.read.session.findFirstOrThrow();
  const turn = await world.database.read.turn.findFirstOrThrow();
  const entity = await world.database.read.entity.findFirstOrThrow({ where: { type: 'host' } });
  await world.write(async (unit) =>
    requestExecution(unit, {
      sessionId: session.id as never,
      turnId: turn.id as never,
      passId: null,
      toolCallId: null,
      target: entity.slug,
      command: 'systemctl restart nginx',
      purpose: 'Restart nginx',
    }),
  );
  const { id } = await world.database.read.execution.findFirstOrThrow();
  return { executionId: id, key: `execution:${id}` };
}

/** Makes cards of one kind unstorable until it is undone. */
async function breakCards(world: BotWorld, kind: string): Promise<() => Promise<void>> {
  const run = async (text: string): Promise<unknown> => world.database.read.$executeRawUnsafe(text);
  await run(`CREATE FUNCTION break_cards() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.kind = '${kind}' THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW; END $$`);
  await run(
    'CREATE TRIGGER break_cards BEFORE INSERT OR UPDATE ON matrix_cards FOR EACH ROW EXECUTE FUNCTION break_cards()',
  );
  return async () => {
    await run('DROP TRIGGER break_cards ON matrix_cards');
    await run('DROP FUNCTION break_cards()');
  };
}

test('G1 C14: what could not be drawn for a moment, and was then, is asked for once', async () => {
  let failures = 0;
  const world = await botWorld({
    mask: (text) => {
      if (text.includes('nginx') && failures-- > 0) throw new Error('not now');
      return text;
    },
  });
  await world.say(LOBBY, 'restart it');
  await world.settle();
  // The batch, and the three tries of its first event that draws the card.
  failures = 4;
  const { key } = await waitingChange(world);
  await world.settle();
  await world.projector?.tick();
  await world.settle();
  expect(world.shown.filter((one) => one.cardKey?.startsWith('former:') === true)).toEqual([]);
  expect(world.card(key).reactions).toEqual(['✅', '❌']);
});

test('G2 C7: an operator’s word deals with no error that came after it, however late it is drawn', async () => {
  const world = await botWorld();
  await world.say(LOBBY, 'look after the backups');
  const { id } = await world.database.read.session.findFirstOrThrow();
  const sessionId = asId<SessionId>(id);
  const turn = await world.database.read.turn.findFirstOrThrow();
  const raise = async (message: string): Promise<void> => {
    await world.write(async (unit) => {
      unit.emit({
        type: 'error.raised',
        sessionId,
        data: { code: 'model_down', message, retry: true },
      });
    });
  };
  await raise('The first trouble.');
  await world.settle();
  const mend = await breakCards(world, 'error');
  await world.write(async (unit) =>
    receiveMessage(unit, { sessionId, turnId: turn.id as never, text: 'and?', sender: ANN }),
  );
  await world.settle();
  await mend();
  await raise('The second trouble.');
  await world.settle();
  await world.projector?.tick();
  await world.settle();
  const second = await world.database.read.matrixCard.findMany({
    where: { kind: 'error' },
    orderBy: { refId: 'asc' },
    select: { closed: true },
  });
  expect(second.at(-1)).toEqual({ closed: false });
});

test('G3 C7: an error that was dealt with before its card could be drawn calls nobody', async () => {
  const world = await botWorld();
  await world.say(LOBBY, 'look after the backups');
  const { id } = await world.database.read.session.findFirstOrThrow();
  const sessionId = asId<SessionId>(id);
  const turn = await world.database.read.turn.findFirstOrThrow();
  const mend = await breakCards(world, 'error');
  await world.write(async (unit) => {
    unit.emit({
      type: 'error.raised',
      sessionId,
      data: { code: 'model_down', message: 'The model did not answer.', retry: true },
    });
  });
  await world.settle();
  await mend();
  await world.write(async (unit) =>
    receiveMessage(unit, { sessionId, turnId: turn.id as never, text: 'go on', sender: ANN }),
  );
  await world.settle();
  await world.projector?.tick();
  await world.settle();
  expect(
    await world.database.read.matrixCard.count({ where: { kind: 'error', closed: false } }),
  ).toBe(0);
});

test('G4 P7: the last that the lobby says of the kill switch is how it is', async () => {
  const world = await botWorld();
  const mend = await breakCards(world, 'switch');
  const set = async (paused: boolean): Promise<void> => {
    await world.write(async (unit) => {
      unit.emit({ type: 'settings.changed', refId: 'paused', data: { paused, by: ANN } });
    });
    await world.settle();
  };
  await set(true);
  await mend();
  await set(false);
  await world.projector?.tick();
  await world.settle();
  const cards = world.shown.filter((one) => one.cardKey?.startsWith('switch:') === true);
  const last = await world.database.read.event.findFirstOrThrow({
    where: { type: 'settings.changed' },
    orderBy: { id: 'desc' },
  });
  expect(cards.at(-1)?.cardKey).toBe(`switch:${last.id}`);
});

test('G5 R10: a card whose edits are refused for good is not edited for ever', async () => {
  const { failRow } = await import('../../bot/outbox/queue.ts');
  const world = await botWorld();
  await world.say(LOBBY, 'restart it');
  const { executionId, key } = await waitingChange(world);
  await world.settle();
  await world.write(async (unit) => {
    await unit.db.execution.update({
      where: { id: executionId },
      data: { status: 'completed', exitCode: 0, endedAt: new Date(), startedAt: new Date() },
    });
    await unit.db.approval.updateMany({ data: { status: 'approved', decidedBy: ANN } });
    const { sessionId } = await unit.db.execution.findFirstOrThrow();
    unit.emit({ type: 'execution.changed', sessionId, refId: executionId });
  });
  while (await world.projector?.step());
  let given = 0;
  // Eight hours in which a tick comes every two minutes.
  for (let minutes = 0; minutes < 480; minutes += 2) {
    const row = await world.database.read.matrixOutbox.findFirst({
      where: { cardKey: key, kind: 'edit', state: 'pending' },
    });
    if (row !== null) {
      await failRow(world.database, row, 'M_FORBIDDEN');
      given += 1;
    }
    await world.database.read
      .$executeRaw`UPDATE matrix_cards SET updated_at = updated_at - interval '2 minutes'`;
    await world.database.read
      .$executeRaw`UPDATE matrix_outbox SET created_at = created_at - interval '2 minutes'`;
    await world.projector?.tick();
  }
  expect(given).toBeLessThan(10);
});

test('G6 T14: a schedule for once in four years does not stop the process for seconds', async () => {
  await using world = await CoreWorld.open();
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  await world.database.write(async (unit) =>
    addSchedule(unit, {
      when: { kind: 'cron', cron: '0 0 29 2 *' },
      ...{ timezone: 'UTC', prompt: 'x', by: ann.userId, sessionId: undefined },
    }),
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  clearInterval(timer);
  expect(longest).toBeLessThan(500);
});

test('G8 R6, X7: what waited long for its turn has its whole time also after its worker went away', async () => {
  await using world = await CoreWorld.open();
  const asked = await world.request(await world.task(), 'host:a', 'touch /tmp/x');
  const id = asId<ExecutionId>(asked.executionId);
  const { read } = world.database;
  await read.approval.updateMany({ data: { status: 'approved' } });
  await read.execution.update({
    where: { id },
    data: { status: 'queued', allowedBy: 'approval', queuedAt: new Date() },
  });
  expect((await claimExecution(world.database, id, 'dead')).kind).toBe('claimed');
  const { timeoutMs } = await read.execution.findUniqueOrThrow({ where: { id } });
  // The host was full: it was sent a moment ago, long after it was claimed.
  await read.execution.update({
    where: { id },
    data: { startedAt: new Date(Date.now() - timeoutMs - 10 * 60_000), leaseUntil: new Date(0) },
  });
  const seen: RunRequest[] = [];
  await resumeExecution(
    {
      database: world.database,
      feed: await world.feed(),
      runner: {
        reattach: async (request: RunRequest): Promise<RunEnd> => {
          seen.push(request);
          const none = {
            bytes: new Uint8Array(),
            totalBytes: 0,
            droppedBytes: 0,
            gapAt: undefined,
          };
          return {
            kind: 'exited',
            exitCode: 0,
            stdout: none,
            stderr: none,
            durationMs: 1,
            shell: 'sh',
          };
        },
      } as never,
      mask: createMasker([]).mask,
      owner: 'worker',
      shutdown: new AbortController().signal,
    },
    id,
  );
  expect(seen[0]?.overdueMs ?? timeoutMs).toBeGreaterThan(timeoutMs - 10_000);
});

test('G9 T14, T5: a run by the clock that fails does not undo a stop either', async () => {
  await using world = await CoreWorld.open();
  const { read } = world.database;
  const { sessionId } = await world.task();
  await world.database.write(async (unit) => {
    await addSchedule(unit, {
      when: { kind: 'cron', cron: '0 7 * * *' },
      ...{ timezone: 'UTC', prompt: 'check', by: ann.userId, sessionId },
    });
    await requestStop(unit, { sessionId, by: ann.userId });
  });
  const run = async (): Promise<void> => {
    await read.schedule.updateMany({ data: { nextAt: new Date(Date.now() - 60_000) } });
    expect(await runDueSchedules(world.database, () => true)).toBe(1);
  };
  await run();
  const pass = await claimPass(world.database, sessionId, 'worker');
  const { id, turnId } = await read.pass.findUniqueOrThrow({ where: { id: pass?.id ?? '' } });
  await world.database.write(async (unit) =>
    endFailed(
      unit,
      { sessionId, turnId, passId: id, owner: 'worker' } as never,
      new NomosError('model_down', 'system', 'The model did not answer.'),
      { modelCalls: 0, tokensIn: 0, tokensOut: 0, cost: 0 },
    ),
  );
  // The next day.
  await run();
  const session = await read.session.findUniqueOrThrow({ where: { id: sessionId } });
  expect(session.pausedReason).toContain('stopped by');
});

test('G10 T5: who goes on after a stop is told of what was left running, though something else failed meanwhile', async () => {
  await using world = await CoreWorld.open();
  const { read } = world.database;
  const task = await world.task();
  const { sessionId } = task;
  const first = await claimPass(world.database, sessionId, 'worker');
  const passId = first?.id as PassId;
  const { turnId } = await read.pass.findUniqueOrThrow({ where: { id: passId } });
  const asked = await world.request(task, 'host:a', 'touch /tmp/x');
  const callId = newId();
  await read.toolCall.create({
    data: {
      ...{ id: callId, sessionId, turnId, passId, callId: 'c', name: 'run_command' },
      ...{ arguments: {}, state: 'done', endedAt: new Date() },
    },
  });
  // A stop had left it running.
  await read.execution.update({
    where: { id: asked.executionId },
    data: { status: 'running', toolCallId: callId, continuation: 'suppressed' },
  });
  // The operator goes on; before that is read, the pass that still ran fails.
  await world.database.write(async (unit) =>
    receiveMessage(unit, { sessionId, turnId: turnId as never, text: 'go on', sender: ann.userId }),
  );
  await world.database.write(async (unit) =>
    endFailed(
      unit,
      { sessionId, turnId, passId, owner: 'worker' } as never,
      new NomosError('model_down', 'system', 'The model did not answer.'),
      { modelCalls: 0, tokensIn: 0, tokensOut: 0, cost: 0 },
    ),
  );
  expect(await claimPass(world.database, sessionId, 'worker')).not.toBeNull();
  const { continuation } = await read.execution.findUniqueOrThrow({
    where: { id: asked.executionId },
  });
  expect(continuation).toBe('due');
});

test('G11 S2: 🤖 at the moment in which the task of a muted signal ends leaves no signal in hand of nobody', async () => {
  const world = await botWorld();
  const { takeAlerts } = await import('../../core/signals/alertmanager.ts');
  const { muteSignal, openTaskForSignal } = await import('../../core/signals/operate.ts');
  const { completeTask } = await import('../../core/tasks/complete.ts');
  const alert = {
    ...{ status: 'firing', labels: { alertname: 'Down' }, fingerprint: 'abc' },
    startsAt: '2026-11-29T12:00:00Z',
  };
  await takeAlerts({ database: world.database, mask: (text) => text }, [alert], 'token:hook');
  const { id } = await world.database.read.signal.findFirstOrThrow();
  const place = { kind: 'matrix' } as never;
  const { database } = world;
  await database.write(async (unit) => openTaskForSignal(unit, id, ANN, place));
  await database.write(async (unit) => muteSignal(unit, id, ANN));
  const { sessionId } = await database.read.signal.findFirstOrThrow();
  let tapped: Promise<unknown> = Promise.resolve();
  await database.write(async (unit) => {
    await completeTask(unit, {
      ...{
        sessionId: asId<SessionId>(sessionId ?? ''),
        outcome: 'failure',
        summary: 'no',
        by: 'agent',
      },
    });
    tapped = database.write(async (other) => openTaskForSignal(other, id, ANN, place));
    await Promise.race([tapped, new Promise((resolve) => setTimeout(resolve, 700))]);
  });
  await tapped;
  const signal = await database.read.signal.findFirstOrThrow();
  const task = await database.read.session.findUniqueOrThrow({
    where: { id: signal.sessionId ?? '' },
  });
  expect({ state: signal.state, over: task.endedAt !== null }).toEqual({
    state: 'acting',
    over: false,
  });
});
