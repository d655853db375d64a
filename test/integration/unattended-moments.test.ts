import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHandler } from '../../bot/handlers/index.ts';
import { cardKey } from '../../bot/projector/keys.ts';
import { Projector } from '../../bot/projector/projector.ts';
import { callTool } from '../../core/api/mcp/call.ts';
import { clientTask } from '../../core/api/mcp/task.ts';
import { findToken } from '../../core/api/tokens.ts';
import { asId, newId, type SessionId, type UserId } from '../../core/ids.ts';
import { limits, setLimits } from '../../core/limits.ts';
import { Operators } from '../../core/operators.ts';
import { parseChecks } from '../../core/signals/check-file.ts';
import { runCheck } from '../../core/signals/run-check.ts';
import { syncChecks } from '../../core/signals/sync-checks.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { archiveTask } from '../../core/tasks/archive.ts';
import { deleteTask } from '../../core/tasks/delete.ts';
import { openTask } from '../../core/tasks/open.ts';
import { leaveArchivedRooms } from '../../bot/rooms/archived-rooms.ts';
import { takeAlerts } from '../../core/signals/alertmanager.ts';
import { recordResult } from '../../core/signals/record-result.ts';
import { sweepSignals } from '../../core/signals/sweep.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { sweepIdle } from '../../core/tasks/idle.ts';
import { receiveMessage } from '../../core/tasks/messages.ts';
import {
  addSchedule,
  pauseSchedule,
  runDueSchedules,
  type Schedule,
} from '../../core/tasks/schedules.ts';
import { setGoal } from '../../core/tasks/status.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { reconcile } from '../../jobs/reconcile.ts';
import { ApiWorld } from '../support/api-world.ts';
import { ANN, BotWorld, LOBBY } from '../support/bot-world.ts';
import { ann, bob, CoreWorld } from '../support/core-world.ts';

const before = limits();
beforeAll(() => setLimits({ ...before, inlineWaitMs: 50 }));
afterAll(() => setLimits(before));

const anyone = (): boolean => true;
const mask = (text: string): string => text;

async function schedule(world: CoreWorld, cron: string, sessionId?: SessionId): Promise<Schedule> {
  return world.database.write(async (unit) =>
    addSchedule(unit, {
      when: { kind: 'cron', cron },
      timezone: 'UTC',
      prompt: 'check the fleet',
      by: ann.userId,
      sessionId,
    }),
  );
}

async function due(world: CoreWorld, id: string): Promise<void> {
  await world.database.read.schedule.update({
    where: { id },
    data: { nextAt: new Date(Date.now() - 60_000) },
  });
}

test('T14, T5, J4: a run by the clock in a task that an operator stopped does not undo the stop', async () => {
  await using world = await CoreWorld.open();
  const task = await world.task();
  const { id } = await schedule(world, '0 7 * * *', task.sessionId);
  const read = world.database.read;
  await world.database.write(async (unit) => {
    await setGoal(unit, task.sessionId, 'Upgrade all hosts');
    await requestStop(unit, { sessionId: task.sessionId, by: ann.userId });
  });
  const session = () => read.session.findUniqueOrThrow({ where: { id: task.sessionId } });
  expect((await session()).pausedReason).toContain('stopped by');
  await due(world, id);
  expect(await runDueSchedules(world.database, anyone)).toBe(1);
  expect((await session()).pausedReason).toContain('stopped by');
  // Its own turn is worked on all the same.
  expect(await read.pass.count({ where: { sessionId: task.sessionId, state: 'queued' } })).toBe(1);
  // When that is over, nothing goes on with what was stopped.
  await read.pass.updateMany({
    where: { state: 'queued' },
    data: { state: 'done', answer: 'well' },
  });
  await read.$executeRaw`UPDATE sessions SET last_activity_at = now() - interval '1 day'`;
  await read.$executeRaw`UPDATE events SET at = now() - interval '1 day'`;
  expect(await sweepIdle(world.database, { close: true })).toEqual({ nudged: 0, closed: 0 });
});

test('T14: a cron line whose runs are too close is refused at whatever minute it is given', async () => {
  await using world = await CoreWorld.open();
  const [{ now }] = await world.database.read.$queryRaw<[{ now: Date }]>`SELECT now() AS now`;
  const minute = now.getUTCMinutes();
  const two = [minute, (minute + 1) % 60].toSorted((a, b) => a - b).join(',');
  // The first of the two has begun already: the next ones are the second, and the first of the coming hour.
  await expect(schedule(world, `${two} * * * *`)).rejects.toThrow(/too often/);
});

test('T14: to let a schedule go on that was not paused skips no run that is due', async () => {
  await using world = await CoreWorld.open();
  const { id } = await schedule(world, '0 7 * * *');
  await due(world, id);
  await world.database.write(async (unit) =>
    pauseSchedule(
      unit,
      await unit.db.schedule.findUniqueOrThrow({ where: { id } }),
      false,
      ann.userId,
    ),
  );
  expect(await runDueSchedules(world.database, anyone)).toBe(1);
});

test('T14, Z7: of two that delete a schedule at once one is told that there is none', async () => {
  await using world = await ApiWorld.open();
  const token = await world.token(['operate']);
  for (let round = 0; round < 5; round++) {
    const { id } = await schedule(world.core, '0 7 * * *');
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => world.call('DELETE', `/api/v1/schedules/${id}`, { token })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 404, 404, 404,
    ]);
  }
});

test('S3: the late end of an earlier firing does not end the one that goes on', async () => {
  await using world = await CoreWorld.open();
  const alert = (status: string, startsAt: string) => [
    { status, labels: { alertname: 'Down' }, startsAt, fingerprint: 'abc' },
  ];
  const deps = { database: world.database, mask };
  await takeAlerts(deps, alert('firing', '2026-11-29T12:00:00Z'), 'token:hook');
  // The end of the first is on its way still when it fires anew.
  await takeAlerts(deps, alert('firing', '2026-11-29T12:30:00Z'), 'token:hook');
  await takeAlerts(deps, alert('resolved', '2026-11-29T12:00:00Z'), 'token:hook');
  const signals = await world.database.read.signal.findMany({
    where: { state: { not: 'resolved' } },
  });
  expect(signals).toHaveLength(1);
  await takeAlerts(deps, alert('resolved', '2026-11-29T12:30:00Z'), 'token:hook');
  expect(await world.database.read.signal.count({ where: { state: { not: 'resolved' } } })).toBe(0);
});

async function botWorld(more: { mask?: (text: string) => string } = {}): Promise<BotWorld> {
  const world = await BotWorld.open();
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

const firing = (count: number, status = 'firing') =>
  Array.from({ length: count }, (_, index) => ({
    status,
    labels: { alertname: `Down${index}` },
    startsAt: '2026-11-29T12:00:00Z',
    fingerprint: `${index.toString(16)}abc`,
  }));

test('S2: while a task is at work on a signal, 🤖 opens no second one, also after 🔕 or 👀', async () => {
  const world = await botWorld();
  try {
    await takeAlerts({ database: world.database, mask }, firing(1), 'token:hook');
    await world.settle();
    const signal = await world.database.read.signal.findFirstOrThrow();
    const card = world.card(cardKey.signal(signal.id, 1));
    await world.tap(LOBBY, card.eventId, '🤖');
    await world.tap(LOBBY, card.eventId, '🔕');
    await world.tap(LOBBY, card.eventId, '🤖');
    expect(await world.database.read.session.count()).toBe(1);
    const now = await world.database.read.signal.findFirstOrThrow();
    expect(now.state).toBe('acting');
  } finally {
    await world.close();
  }
});

test('S2, C14: what shared the card of a storm, came back and stays calls, as any other does', async () => {
  const world = await botWorld();
  try {
    const deps = { database: world.database, mask };
    await takeAlerts(deps, firing(9), 'token:hook');
    await takeAlerts(deps, firing(9, 'resolved'), 'token:hook');
    await world.settle();
    const shared = await world.database.read.signal.findFirstOrThrow({ where: { calls: 0 } });
    const [alert] = firing(9).filter(({ fingerprint }) => shared.key.endsWith(fingerprint));
    await takeAlerts(deps, [{ ...alert, startsAt: '2026-11-29T12:10:00Z' }], 'token:hook');
    await world.database.read
      .$executeRaw`UPDATE signals SET reopened_at = reopened_at - interval '16 minutes',
        raised_at = raised_at - interval '20 minutes', called_at = called_at - interval '20 minutes'`;
    expect(await sweepSignals(world.database)).toBe(1);
  } finally {
    await world.close();
  }
});

test('S2: the card of a storm no longer lists what has a card of its own, and says so when all are over', async () => {
  const world = await botWorld();
  try {
    const deps = { database: world.database, mask };
    await takeAlerts(deps, firing(9), 'token:hook');
    await world.settle();
    const storm = () => world.shown.find((one) => one.cardKey?.startsWith('signal-storm') === true);
    expect(storm()?.body).toContain('1 still open');
    const shared = await world.database.read.signal.findFirstOrThrow({ where: { calls: 0 } });
    await world.say(LOBBY, `!signals mute ${shared.shortId}`);
    await world.database.read
      .$executeRaw`UPDATE signals SET muted_until = now() - interval '1 minute' WHERE state = 'muted'`;
    expect(await sweepSignals(world.database)).toBe(1);
    await world.settle();
    await takeAlerts(deps, firing(9, 'resolved'), 'token:hook');
    await world.settle();
    expect(storm()?.body).not.toContain('still open');
  } finally {
    await world.close();
  }
});

test('S2, C8: a signal whose task ended well, and which goes on all the same, calls again', async () => {
  const world = await botWorld();
  try {
    const { read } = world.database;
    const entity = await read.entity.findFirstOrThrow({ where: { type: 'host' } });
    const id = newId();
    await read.check.create({
      data: {
        ...{ id, entityId: entity.id, name: 'disk', kind: 'disk', parameters: {} },
        ...{
          severity: 'critical',
          everyMs: 60_000,
          timeoutMs: 1_000,
          raiseAfter: 2,
          resolveAfter: 2,
        },
      },
    });
    const fails = async (): Promise<void> => {
      await read.check.update({ where: { id }, data: { leaseOwner: 'w' } });
      await recordResult(world.database, {
        id,
        owner: 'w',
        seen: { status: 'fail', value: 99, detail: '99 % used', metrics: [] },
      });
      await world.settle();
    };
    await fails();
    await fails();
    const signal = await read.signal.findFirstOrThrow();
    await world.tap(LOBBY, world.card(cardKey.signal(signal.id, 1)).eventId, '🤖');
    const { sessionId } = await read.signal.findFirstOrThrow();
    await world.write(async (unit) =>
      completeTask(unit, {
        sessionId: asId<SessionId>(sessionId ?? ''),
        outcome: 'success',
        summary: 'Made room.',
        by: 'agent',
      }),
    );
    await fails();
    await fails();
    expect(await read.signal.findFirstOrThrow()).toMatchObject({ state: 'raised', calls: 2 });
    expect(world.card(cardKey.signal(signal.id, 2)).mentions).not.toEqual([]);
    // Once for that end: the looks that follow call nobody.
    await fails();
    expect(await read.signal.findFirstOrThrow()).toMatchObject({ state: 'raised', calls: 2 });
  } finally {
    await world.close();
  }
});

test('C6: a task that ended, went on and ended again has told one end when both are drawn at once', async () => {
  const world = await botWorld();
  try {
    await world.say(LOBBY, 'look after the backups');
    const { id } = await world.database.read.session.findFirstOrThrow();
    const sessionId = asId<SessionId>(id);
    const turn = await world.database.read.turn.findFirstOrThrow();
    const end = async (summary: string): Promise<void> => {
      await world.write(async (unit) =>
        completeTask(unit, { sessionId, outcome: 'success', summary, by: 'agent' }),
      );
    };
    await end('The first end.');
    await world.write(async (unit) =>
      receiveMessage(unit, { sessionId, turnId: turn.id as never, text: 'and?', sender: ANN }),
    );
    await end('The second end.');
    await world.settle();
    const digests = world.shown.filter((one) => one.cardKey?.startsWith('digest:') === true);
    expect(digests.map(({ body }) => body.includes('The second end.'))).toEqual([true]);
  } finally {
    await world.close();
  }
});

test('C7, T14: a run by the clock deals with no error of the task', async () => {
  const world = await botWorld();
  try {
    await world.say(LOBBY, 'look after the backups');
    const { id } = await world.database.read.session.findFirstOrThrow();
    const sessionId = asId<SessionId>(id);
    await world.write(async (unit) => {
      unit.emit({
        type: 'error.raised',
        sessionId,
        data: { code: 'model_down', message: 'The model did not answer.', retry: true },
      });
      await addSchedule(unit, {
        when: { kind: 'cron', cron: '0 7 * * *' },
        ...{ timezone: 'UTC', prompt: 'check', by: ANN, sessionId },
      });
    });
    await world.settle();
    await world.database.read.schedule.updateMany({ data: { nextAt: new Date(0) } });
    expect(await runDueSchedules(world.database, anyone)).toBe(1);
    await world.settle();
    const card = world.shown.find((one) => one.cardKey?.startsWith('error:') === true);
    expect(card?.body).toContain('The model did not answer.');
    expect(card?.body).not.toMatch(/☑️|tried again|went on/);
  } finally {
    await world.close();
  }
});

async function waitingChange(world: BotWorld): Promise<{ executionId: string; key: string }> {
  const { requestExecution } = await import('../../core/executions/request.ts');
  const session = await world.database.read.session.findFirstOrThrow();
  const turn = await world.database.read.turn.findFirstOrThrow();
  const entity = await world.database.read.entity.findFirstOrThrow({ where: { type: 'host' } });
  const outcome = await world.write(async (unit) =>
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
  expect(outcome.kind).toBe('waiting');
  const { id } = await world.database.read.execution.findFirstOrThrow();
  return { executionId: id, key: `execution:${id}` };
}

test('R12, C4: a card that could not be drawn for a while is drawn once it can be', async () => {
  let broken = false;
  const world = await botWorld({
    mask: (text) => {
      if (broken && text.includes('nginx')) throw new Error('not now');
      return text;
    },
  });
  try {
    await world.say(LOBBY, 'restart it');
    broken = true;
    const { key } = await waitingChange(world);
    await world.settle();
    broken = false;
    await world.projector?.tick();
    await world.settle();
    expect(world.card(key).reactions).toEqual(['✅', '❌']);
  } finally {
    await world.close();
  }
});

test('R12: a running command whose card cannot be drawn stops the clocks of no other', async () => {
  const world = await botWorld();
  try {
    await world.say(LOBBY, 'restart it');
    const { executionId, key } = await waitingChange(world);
    await world.settle();
    const { read } = world.database;
    const row = await read.execution.findFirstOrThrow();
    const running = { status: 'running', startedAt: new Date(Date.now() - 60_000) } as const;
    await read.execution.update({ where: { id: executionId }, data: running });
    await read.execution.create({
      data: {
        ...(row as never as { [K in keyof typeof row]: never }),
        ...{
          id: newId(),
          shortId: 'zzzzz',
          commandHash: 'other',
          approvalId: null,
          preview: undefined,
        },
        ...{ registers: undefined, scripts: undefined, reasons: { broken: true } },
        ...running,
      } as never,
    });
    await world.projector?.tick().catch(() => {});
    await world.settle();
    expect(world.card(key).body).toMatch(/^▶️ Running for 1/);
  } finally {
    await world.close();
  }
});

test('C3, R10: the last form of a card whose edit was given up is shown later all the same', async () => {
  const { failRow } = await import('../../bot/outbox/queue.ts');
  const world = await botWorld();
  try {
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
    const row = await world.database.read.matrixOutbox.findFirstOrThrow({
      where: { cardKey: key, kind: 'edit', state: 'pending' },
    });
    await failRow(world.database, row, 'M_UNKNOWN: 500');
    await world.settle();
    // A while later.
    await world.database.read
      .$executeRaw`UPDATE matrix_cards SET updated_at = updated_at - interval '5 minutes'`;
    await world.projector?.tick();
    await world.settle();
    expect(world.card(key).body).toContain('Done');
  } finally {
    await world.close();
  }
});

async function mcp(world: ApiWorld) {
  const presented = await world.token(['read', 'operate'], bob);
  const token = await findToken(world.core.database, presented);
  if (token === null) throw new Error('no token');
  const deps = { database: world.core.database, feed: await world.core.feed(), mask };
  return {
    deps: deps as never,
    token,
    actor: () => ({ operator: bob, token: token.name }),
  };
}

test('H6, R12: as many calls at once as there are connections are all answered', async () => {
  await using world = await ApiWorld.open();
  const caller = await mcp(world);
  const started = performance.now();
  const outcomes = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      callTool(
        caller,
        'upsert_knowledge',
        { title: `Note ${index}`, content: 'x', kind: 'document', about: ['host:a'] },
        new AbortController().signal,
      ),
    ),
  );
  expect(outcomes.filter(({ ok }) => !ok).map(({ value }) => value)).toEqual([]);
  expect(performance.now() - started).toBeLessThan(8_000);
});

test('Z7, H6: a NUL in what a client sends is no fault inside Nomos', async () => {
  await using world = await ApiWorld.open();
  const outcome = await callTool(
    await mcp(world),
    'upsert_knowledge',
    { title: 'Note\0', content: 'x\0y', kind: 'document', about: ['host:a'] },
    new AbortController().signal,
  );
  expect(JSON.stringify(outcome.value)).not.toContain('inside Nomos');
});

test('H6, J6: a call of a client whose process died in the middle is not told as running for ever', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const task = await clientTask(database, { operator: bob, token: 't' }, newId());
  const id = newId();
  await database.read.toolCall.create({
    data: {
      ...{ id, ...task, name: 'run', callId: id, arguments: {}, state: 'running' },
      ...{
        startedAt: new Date(Date.now() - 3_600_000),
        createdAt: new Date(Date.now() - 3_600_000),
      },
    },
  });
  await reconciled(world);
  const call = await database.read.toolCall.findUniqueOrThrow({ where: { id } });
  expect(call).toMatchObject({ state: 'unknown', success: false });
  expect(call.endedAt).not.toBeNull();
});

test('H6, C8: the task of a client that does not come back is ended, and says so', async () => {
  await using world = await CoreWorld.open();
  const { database } = world;
  const { sessionId } = await clientTask(database, { operator: bob, token: 't' }, newId());
  await sweepIdle(database, { close: true });
  const session = () => database.read.session.findUniqueOrThrow({ where: { id: sessionId } });
  expect((await session()).endedAt).toBeNull();
  await database.read
    .$executeRaw`UPDATE sessions SET last_activity_at = now() - interval '2 hours'`;
  await database.read.$executeRaw`UPDATE events SET at = now() - interval '2 hours'`;
  await sweepIdle(database, { close: true });
  expect(await session()).toMatchObject({ outcome: 'partial' });
  expect((await session()).summary).toContain('made no call for an hour');
});

async function reconciled(world: CoreWorld): Promise<void> {
  const producer = { execution: async () => {}, pass: async () => {}, check: async () => {} };
  await reconcile({
    database: world.database,
    producer: producer as never,
    crashes: { look: async () => {} } as never,
    resume: () => {},
    isOperator: anyone,
  });
}

test('C9, J6: a task that got stuck while the bot was away is offered ▶️ when it is back', async () => {
  const world = await botWorld();
  try {
    await world.say(LOBBY, 'look after the backups');
    const { id } = await world.database.read.session.findFirstOrThrow();
    await world.database.read.pass.updateMany({ data: { state: 'done', answer: 'half' } });
    await world.database.read.session.update({
      where: { id },
      data: { status: 'executing', goal: 'x', lastAgentAt: new Date(Date.now() - 600_000) },
    });
    world.projector = (await restarted(world)).projector;
    await world.projector?.tick();
    await world.settle();
    expect(world.card(cardKey.task(id)).reactions).toEqual(['▶️']);
  } finally {
    await world.close();
  }
});

async function restarted(world: BotWorld): Promise<{ projector: Projector }> {
  return {
    projector: new Projector({
      database: world.database,
      feed: world.feed,
      operators: world.operators,
      timeZone: 'UTC',
      streaming: false,
    }),
  };
}

test('R12, C4, J6: what waits for a decision and could not be drawn is drawn after a restart', async () => {
  const world = await botWorld({
    mask: (text) => {
      if (text.includes('nginx')) throw new Error('not now');
      return text;
    },
  });
  try {
    await world.say(LOBBY, 'restart it');
    const { key } = await waitingChange(world);
    await world.settle();
    world.projector = (await restarted(world)).projector;
    await world.database.read
      .$executeRaw`UPDATE approvals SET created_at = created_at - interval '2 minutes'`;
    await world.projector?.tick();
    await world.settle();
    expect(world.card(key).reactions).toEqual(['✅', '❌']);
  } finally {
    await world.close();
  }
});

const severe = (severity: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({
    status: 'firing',
    labels: { alertname: `Down${from + index}`, severity },
    startsAt: '2026-11-29T12:00:00Z',
    fingerprint: `${(from + index).toString(16)}abc`,
  }));

test('S2, C10: what calls nobody makes no storm in which a critical signal has no card of its own', async () => {
  const world = await botWorld();
  try {
    const deps = { database: world.database, mask };
    await takeAlerts(deps, severe('info', 8), 'token:hook');
    await takeAlerts(deps, severe('critical', 1, 100), 'token:hook');
    await world.settle();
    const signal = await world.database.read.signal.findFirstOrThrow({
      where: { severity: 'critical' },
    });
    expect(signal.calls).toBe(1);
    expect(world.card(cardKey.signal(signal.id, 1)).mentions).not.toEqual([]);
  } finally {
    await world.close();
  }
});

test('S2, S3: many signals that are for information only share a card as well, which calls nobody', async () => {
  const world = await botWorld();
  try {
    await takeAlerts({ database: world.database, mask }, severe('info', 20), 'token:hook');
    await world.settle();
    const cards = world.shown.filter(({ cardKey: key }) => key?.startsWith('signal') === true);
    expect(cards).toHaveLength(9);
    expect(cards.flatMap(({ mentions }) => mentions)).toEqual([]);
  } finally {
    await world.close();
  }
});

test('S1: no more than two checks ask one host at the same time, however many workers begin at once', async () => {
  await using world = await CoreWorld.open();
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const text = ['version: 1', 'checks:']
    .concat(
      names.map(
        (name) =>
          `  - { name: ${name}, kind: command, command: uptime, match: { target: 'host:a' } }`,
      ),
    )
    .join('\n');
  await syncChecks(
    world.database,
    parseChecks(text, 'checks.yaml', loadOntology('seeds/ontology.yaml')),
  );
  const rows = await world.database.read.check.findMany();
  for (let round = 0; round < 5; round++) {
    await world.database.read
      .$executeRaw`UPDATE checks SET next_at = clock_timestamp() - interval '1 second', lease_until = NULL, lease_owner = NULL`;
    let asking = 0;
    let most = 0;
    const runner = {
      async run() {
        most = Math.max(most, ++asking);
        await new Promise((resolve) => setTimeout(resolve, 100));
        asking--;
        return { kind: 'unknown', reason: 'a test' };
      },
    };
    await Promise.all(
      rows.map(({ id }, index) =>
        runCheck(
          {
            database: world.database,
            runner: runner as never,
            mask,
            owner: `w${index}`,
            shutdown: new AbortController().signal,
          },
          id,
        ),
      ),
    );
    expect(most).toBeLessThanOrEqual(2);
  }
});

test('T14, A15: a schedule of somebody who may not schedule any more starts nothing', async () => {
  await using world = await CoreWorld.open();
  const { id } = await schedule(world, '0 7 * * *');
  await due(world, id);
  const roles = new Operators([{ ...ann, role: 'viewer' }]);
  expect(await runDueSchedules(world.database, (userId) => roles.covers(userId, 'approver'))).toBe(
    0,
  );
  expect(await world.database.read.session.count()).toBe(0);
  expect(await world.database.read.schedule.findFirstOrThrow()).toMatchObject({ paused: true });
});

test('T11: of a task that was deleted before it had a room nothing that was to be said there stays', async () => {
  const world = await botWorld();
  try {
    const { sessionId } = await world.write(async (unit) =>
      openTask(unit, { by: ANN, text: 'a word that is to go', origin: { kind: 'api' } }),
    );
    while (await world.projector?.step());
    const kept = () =>
      world.database.read.matrixOutbox.count({ where: { lane: `session:${sessionId}` } });
    expect(await kept()).toBeGreaterThan(0);
    await world.write(async (unit) => archiveTask(unit, { sessionId, by: ANN }));
    await world.write(async (unit) => deleteTask(unit, { sessionId, by: ANN }));
    while (await world.projector?.step());
    await leaveArchivedRooms({
      database: world.database,
      client: { doRequest: async () => ({}) } as never,
      signal: new AbortController().signal,
    });
    expect(await kept()).toBe(0);
    expect(await world.database.read.matrixCard.count({ where: { sessionId } })).toBe(0);
  } finally {
    await world.close();
  }
});

test('S2: nor does it when the trouble went away and came back while the task is at work', async () => {
  const world = await botWorld();
  try {
    const deps = { database: world.database, mask };
    await takeAlerts(deps, firing(1), 'token:hook');
    await world.settle();
    const signal = await world.database.read.signal.findFirstOrThrow();
    const card = world.card(cardKey.signal(signal.id, 1));
    await world.tap(LOBBY, card.eventId, '🤖');
    await takeAlerts(deps, firing(1, 'resolved'), 'token:hook');
    await takeAlerts(
      deps,
      firing(1).map((alert) => ({ ...alert, startsAt: '2026-11-29T12:10:00Z' })),
      'token:hook',
    );
    await world.settle();
    await world.tap(LOBBY, card.eventId, '🤖');
    expect(await world.database.read.session.count()).toBe(1);
    expect(await world.database.read.signal.findFirstOrThrow()).toMatchObject({ state: 'acting' });
  } finally {
    await world.close();
  }
});

test('Z7, S3: an alert that could not be stored for a moment is not told as taken', async () => {
  await using world = await CoreWorld.open();
  let broken = true;
  const read = world.database.read;
  const database = {
    read,
    write: async (work: never) => {
      if (broken) throw new Error('not now');
      return world.database.write(work);
    },
  };
  const deps = { database: database as never, mask };
  await takeAlerts({ database: world.database, mask }, firing(1), 'token:hook');
  await expect(takeAlerts(deps, firing(1, 'resolved'), 'token:hook')).rejects.toThrow();
  broken = false;
  expect(await takeAlerts(deps, firing(1, 'resolved'), 'token:hook')).toMatchObject({
    resolved: 1,
  });
});
