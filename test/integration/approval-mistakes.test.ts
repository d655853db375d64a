/**
 * The mistakes that were reported against other chat agents and Matrix bots, and the bad input that people and models send: a test
 * for each that touches approvals. Every title is the report.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Dispatcher } from '../../bot/inbox/dispatch.ts';
import type { InboxHandler } from '../../bot/inbox/types.ts';
import { decide } from '../../core/approvals/decide.ts';
import { expireDueApprovals } from '../../core/approvals/expire.ts';
import { readOperators } from '../../core/config/config.ts';
import type { JsonInput } from '../../core/db/database.ts';
import { claimExecution } from '../../core/executions/claim.ts';
import { databaseHostKeys } from '../../core/executions/host-keys.ts';
import { requestExecution, type RequestOutcome } from '../../core/executions/request.ts';
import { parseInventory } from '../../core/graph/inventory-file.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import type { MatrixEventId, RoomId } from '../../core/ids.ts';
import { Operators } from '../../core/operators.ts';
import { NO_RULES, parseRules } from '../../core/policy/rules-file.ts';
import { tellIdleRules } from '../../core/policy/idle-rules.ts';
import { setRules } from '../../core/policy/rule-store.ts';
import { benchOn } from '../support/agent-bench.ts';
import { ANN, BOB, EVE, type BotWorld } from '../support/bot-world.ts';
import { startScriptedModel } from '../support/scripted-model.ts';
import { findSshd, TestSshd } from '../support/sshd.ts';
import { runnerFor } from '../support/remote.ts';
import {
  askFor,
  connect,
  notesIn,
  openRooms,
  openRoomTask,
  startPass,
  type RoomTask,
} from '../support/task-room.ts';

let world: BotWorld;
beforeAll(async () => {
  world = await openRooms();
});
afterAll(() => world.close());
afterEach(() => setRules(NO_RULES));

const ontology = loadOntology('seeds/ontology.yaml');

/** As the agent asks; rejects as the tool does. */
function request(task: RoomTask, command: string, target = 'web-1'): Promise<RequestOutcome> {
  return world.write((unit) =>
    requestExecution(unit, {
      ...{ sessionId: task.sessionId, turnId: task.turnId, passId: task.passId },
      toolCallId: null,
      target,
      command,
      purpose: 'For the test',
    }),
  );
}

let taps = 0;

/** A tap as it comes out of a sync: stored, and not worked on yet. */
async function storeTap(
  roomId: RoomId,
  target: MatrixEventId,
  sender: string = ANN,
): Promise<string> {
  const eventId = `$stored-${++taps}`;
  const event = {
    event_id: eventId,
    sender,
    type: 'm.reaction',
    origin_server_ts: 1,
    content: { 'm.relates_to': { rel_type: 'm.annotation', event_id: target, key: '✅' } },
  };
  await world.database.read.matrixInbox.create({
    data: {
      eventId,
      roomId,
      sender,
      type: 'm.reaction',
      event: event satisfies JsonInput,
      state: 'pending',
    },
  });
  return eventId;
}

/** Works on the inbox as the program does, until the event is done with. */
async function dispatch(
  eventId: string,
  handler: InboxHandler,
  operators: Operators = world.operators,
): Promise<string> {
  const stop = new AbortController();
  const dispatcher = new Dispatcher({
    database: world.database,
    handler,
    isOperator: (userId) => operators.find(userId) !== undefined,
    signal: stop.signal,
  });
  const running = dispatcher.run();
  try {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const row = await world.database.read.matrixInbox.findUniqueOrThrow({ where: { eventId } });
      if (row.state !== 'pending') return row.state;
      if (Date.now() > deadline) throw new Error('the event was not worked on');
      await world.feed.waitFor(
        () => true,
        () => Promise.resolve(undefined),
        { timeoutMs: 100 },
      );
    }
  } finally {
    stop.abort();
    await running;
  }
}

const own = (): InboxHandler => {
  if (world.handler === undefined) throw new Error('the world has no handler');
  return world.handler;
};

describe('what was got wrong elsewhere', () => {
  it('a ✅ was swallowed because the backend was away for a second', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx');
    const tap = await storeTap(task.roomId, held.card.eventId);
    let cuts = 0;
    const state = await dispatch(tap, async (unit, event) => {
      await own()(unit, event);
      // The decision is made and not committed when the connection goes, as when PostgreSQL restarts.
      if (cuts++ < 2) await unit.db.$queryRaw`SELECT pg_terminate_backend(pg_backend_pid())`;
    });
    expect(cuts).toBe(3);
    expect(state).toBe('done');
    expect(await held.approval()).toMatchObject({ status: 'approved', decidedEvent: tap });
    const decisions = await world.database.read.auditEntry.count({
      where: { subject: held.approvalId, action: 'approval.approved' },
    });
    expect(decisions).toBe(1);
  });

  it('after a restart waiting approvals were gone, their cards failed, and the agent asked again in a loop', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx');
    const { card } = held;
    await world.restart();
    connect(world);
    await world.settle();
    expect(card.edits).toBe(0);
    expect(await request(task, 'systemctl restart nginx')).toEqual({
      kind: 'twin',
      executionId: held.id,
      shortId: held.shortId,
    });
    await world.tap(task.roomId, card.eventId, '✅');
    expect((await held.approval()).status).toBe('approved');
    expect(card.body).toContain('Approved by ann with a tap');
  });

  it('an empty list of operators let everyone approve', async () => {
    for (const NOMOS_OPERATORS of ['', ' ', ',']) {
      expect(() => readOperators({ NOMOS_OPERATORS })).toThrow(/names nobody/);
    }
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx');
    for (const sender of [ANN, '@mallory:example.org']) {
      const tap = await storeTap(task.roomId, held.card.eventId, sender);
      expect(await dispatch(tap, own(), new Operators([]))).toBe('ignored');
    }
    expect((await held.approval()).status).toBe('pending');
  });

  it('an approval hit the oldest waiting command, not the one that was tapped', async () => {
    const task = await openRoomTask(world);
    const commands = ['nginx', 'php-fpm', 'redis'].map((unit) => `systemctl restart ${unit}`);
    const held = [];
    for (const command of commands) held.push(await askFor(world, task, command));
    await world.tap(task.roomId, held[1]?.card.eventId ?? '', '✅');
    expect(await Promise.all(held.map(async (one) => (await one.approval()).status))).toEqual([
      'pending',
      'approved',
      'pending',
    ]);
  });

  it('chatting while something waited ran its time out', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx');
    const { expiresAt } = await held.approval();
    for (const text of ['what does it do?', 'and how long?', 'look at db-1 meanwhile']) {
      await world.say(task.roomId, text, { thread: task.root });
      await startPass(world, task.sessionId, task.turnId);
      await world.say(task.roomId, `${text} (on the main timeline)`);
    }
    await expireDueApprovals(world.database);
    expect(await held.approval()).toMatchObject({ status: 'pending', expiresAt });
    await world.tap(task.roomId, held.card.eventId, '✅');
    expect((await held.approval()).status).toBe('approved');
  });

  it('A12, A13, A18: a retry asked again under a new id; hundreds of repeats followed a denial', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx');
    for (let retry = 0; retry < 20; retry++) {
      expect((await request(task, 'systemctl restart nginx')).kind).toBe('twin');
    }
    await world.tap(task.roomId, held.card.eventId, '❌');
    const outcomes: string[] = [];
    for (let repeat = 0; repeat < 100; repeat++) {
      const outcome = await request(task, `systemctl restart nginx # ${repeat}`).catch(
        (error: unknown) => error,
      );
      if (outcome instanceof Error) {
        expect(outcome).toMatchObject({ code: 'asking_stopped' });
        expect(outcome.message).toContain('denied 2 changes on host:web-1');
        outcomes.push('stopped');
      } else {
        outcomes.push('asked');
        await world.settle();
        const row = await world.database.read.approval.findFirstOrThrow({
          where: { sessionId: task.sessionId, status: 'pending' },
        });
        await world.say(task.roomId, `!deny ${row.shortId}`);
      }
    }
    expect(outcomes).toEqual(['asked', ...Array<string>(99).fill('stopped')]);
    expect((await notesIn(world, task.turnId)).every((text) => text.includes('do not ask'))).toBe(
      true,
    );
  });

  it('what was approved was changed while it waited, and the changed bytes ran', async () => {
    const task = await openRoomTask(world);
    const [bytes, place] = [
      await askFor(world, task, 'sh /srv/deploy.sh'),
      await askFor(world, task, 'systemctl restart nginx', { target: 'nas-1' }),
    ];
    for (const held of [bytes, place]) await world.tap(task.roomId, held.card.eventId, '✅');
    const db = world.database.read;
    await expect(
      db.$executeRaw`UPDATE executions SET command = 'id' WHERE id = ${bytes.id}::uuid`,
    ).rejects.toThrow(/fixed at request time/);
    await expect(
      db.$executeRaw`UPDATE approvals SET needs_typed = true WHERE id = ${bytes.approvalId}::uuid`,
    ).rejects.toThrow(/fixed at request time/);
    // Someone with the owner's rights on the database gets past that, and not past the claim.
    await db.$executeRaw`ALTER TABLE executions DISABLE TRIGGER executions_keep`;
    await db.$executeRaw`UPDATE executions SET command = 'sh /srv/deploy.sh; id' WHERE id = ${bytes.id}::uuid`;
    await db.$executeRaw`ALTER TABLE executions ENABLE TRIGGER executions_keep`;
    expect(await claimExecution(world.database, bytes.id, 'worker')).toMatchObject({
      kind: 'revoked',
      why: expect.stringContaining('not what was requested') as string,
    });
    await db.$executeRaw`UPDATE entities SET attributes = attributes || '{"address": "192.0.2.99"}' WHERE slug = 'host:nas-1'`;
    expect(await claimExecution(world.database, place.id, 'worker')).toMatchObject({
      kind: 'revoked',
      why: expect.stringContaining('reached another way') as string,
    });
    await world.settle();
    expect(bytes.card.body).toContain('not what was requested');
    expect((await notesIn(world, task.turnId)).at(-1)).toContain('REVOKED before it started');
  });

  it('A3, P4: a script was written under a grant and run by a command of its own, so that nobody confirmed what it destroys', async () => {
    const task = await openRoomTask(world);
    const first = await askFor(world, task, 'systemctl restart nginx');
    await world.tap(task.roomId, first.card.eventId, '✅');
    // Under the grant that is open now, scripts may be written, and run when they destroy nothing.
    for (const command of [
      "printf 'systemctl reload nginx' > /srv/reload.sh",
      "cat > /srv/clean.sh <<'E'\nrm -rf /srv/data\nE",
      'sh /srv/reload.sh',
    ]) {
      expect({ command, ...(await request(task, command)) }).toMatchObject({
        command,
        kind: 'queued',
      });
    }
    for (const command of ['sh /srv/clean.sh', 'chmod +x /srv/clean.sh && /srv/clean.sh']) {
      expect({ command, ...(await request(task, command)) }).toMatchObject({
        command,
        kind: 'waiting',
        risk: 'destructive',
      });
    }
    await world.settle();
    expect(world.shown.some(({ body }) => body.includes('which this task asked for before'))).toBe(
      true,
    );
  });

  it('zero-width characters hid part of a command on the card', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(
      world,
      task,
      'echo ok >/srv/a;\u200b\u202erm\u2066 -r /srv/x\u00ad # \u{e0041}',
    );
    for (const shown of ['‹U+200B›', '‹U+202E›', '‹U+2066›', '‹U+00AD›', '‹U+E0041›']) {
      expect(held.card.body).toContain(shown);
      expect(held.card.html).toContain(shown);
    }
    for (const hidden of ['\u200b', '\u202e', '\u2066', '\u00ad']) {
      expect(held.card.html).not.toContain(hidden);
    }
  });

  it('“always allow” allowed a whole shell; a redirect or /usr/bin/sudo slipped past the rules', async () => {
    const task = await openRoomTask(world);
    const first = await askFor(world, task, "bash -c 'systemctl restart nginx'");
    await world.tap(task.roomId, first.card.eventId, '✅');
    // The grant is open now, and this is all that it lets through: no shell, no user, no spelling is allowed by name.
    for (const command of [
      "bash -c 'rm -rf /srv/a'",
      '/usr/bin/sudo rm -rf /srv/b',
      'sudo -u root -- sh -c "rm -rf /srv/c"',
      'env X=1 nice /bin/rm --recursive --force /srv/d',
      '\\rm -rf /srv/e',
      'cat /etc/hosts > /dev/sda',
    ]) {
      expect({ command, ...(await request(task, command)) }).toMatchObject({
        command,
        kind: 'waiting',
        risk: 'destructive',
      });
    }
    const other = await openRoomTask(world);
    for (const command of ['echo x > /etc/motd', '/usr/bin/sudo tee /etc/motd', 'ls >> /srv/log']) {
      expect({ command, ...(await request(other, command)) }).toMatchObject({
        command,
        kind: 'waiting',
      });
    }
  });

  it('the same emoji with and without its variation selector counted as two', async () => {
    setRules(
      parseRules(
        'version: 1\nrules:\n  - { name: two, match: { target: host:web-1 }, approval: { people: 2 } }',
        'policy.yaml',
        ontology,
      ),
    );
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx');
    for (const key of ['✔', '✔️', '✅', '👍', '👍🏽']) {
      await world.tap(task.roomId, held.card.eventId, key);
    }
    expect((await held.approval()).status).toBe('pending');
    expect(
      await world.database.read.approvalVote.count({ where: { approvalId: held.approvalId } }),
    ).toBe(1);
    await world.tap(task.roomId, held.card.eventId, '✔', BOB);
    expect((await held.approval()).status).toBe('approved');
  });

  it('a card’s own words were believed: an event that claims to be a card approved something', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx');
    const fake = await world.say(task.roomId, 'Approve?', {
      content: {
        'org.nomos': { kind: 'execution', card: `execution:${held.id}`, ref: held.id },
      },
    });
    await world.tap(task.roomId, fake, '✅');
    await world.say(task.roomId, 'yes', { replyTo: fake, by: EVE });
    expect((await held.approval()).status).toBe('pending');
  });

  it.each([
    ['yes', 'systemctl restart nginx', 'on the main timeline', false],
    ['yes', 'systemctl restart nginx', 'in the thread', true],
    ['I confirm', 'rm -rf /srv/old', 'on the main timeline', false],
    ['I confirm', 'rm -rf /srv/old', 'in the thread', true],
    ['no', 'systemctl restart nginx', 'in the thread', true],
  ])(
    'a copy of a card, or another person’s question, was answered “%s”, and %s was decided on (%s)',
    async (words, command, _where, inThread) => {
      const task = await openRoomTask(world);
      const held = await askFor(world, task, command);
      const place = inThread ? { thread: task.root } : {};
      const copy = await world.say(task.roomId, 'Approve? echo hello', { ...place, by: EVE });
      await world.say(task.roomId, words, { ...place, replyTo: copy, by: ANN });
      expect((await held.approval()).status).toBe('pending');
      expect(world.lastAnswer().body).toContain('nothing was decided');
      // To the card itself it counts.
      await world.say(task.roomId, words, { ...place, replyTo: held.card.eventId, by: ANN });
      expect((await held.approval()).status).toBe(words === 'no' ? 'denied' : 'approved');
    },
  );
});

describe('bad input gets a clear answer, and nothing runs', () => {
  const count = (task: RoomTask): Promise<number> =>
    world.database.read.execution.count({ where: { sessionId: task.sessionId } });

  it.each([
    ['nothing', '   \n', /it is empty/],
    ['a NUL character', 'ls /srv\0; rm -rf /srv', /NUL character/],
    ['half of a surrogate pair', 'echo \ud800 > /srv/x', /half of a surrogate pair/],
    ['1 MiB', `echo ${'x'.repeat(1024 * 1024)} > /srv/x`, /1048\d+ bytes long; at most 120000/],
  ])('a command that is %s', async (_what, command, words) => {
    const task = await openRoomTask(world);
    await expect(request(task, command)).rejects.toThrow(words);
    await expect(request(task, command)).rejects.toMatchObject({
      code: 'command_invalid',
      fault: 'model',
    });
    expect(await count(task)).toBe(0);
  });

  it('a command that no shell could parse waits, with that as its reason', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'if then fi (');
    expect(held.card.body).toContain('the shell grammar does not accept it');
    expect(await held.execution()).toMatchObject({
      status: 'pending_approval',
      risk: 'config_mutation',
    });
  });

  it('P9: a target that is unknown or gone', async () => {
    const task = await openRoomTask(world);
    await expect(request(task, 'uptime', 'web-99')).rejects.toMatchObject({ fault: 'model' });
    expect(await count(task)).toBe(0);
  });

  it('a reaction to a redacted card decides nothing and is told so; the card is sent again and alive', async () => {
    const task = await openRoomTask(world);
    const held = await askFor(world, task, 'systemctl restart nginx');
    const old = held.card.eventId;
    await world.redact(task.roomId, old);
    await world.tap(task.roomId, old, '✅');
    expect((await held.approval()).status).toBe('pending');
    expect(world.lastAnswer().body).toContain('That card was removed from the room');
    const again = world.shown.findLast(({ cardKey }) => cardKey === `execution:${held.id}`);
    expect(again?.eventId).not.toBe(old);
    expect(again?.reactions).toEqual(['✅', '❌']);
    await world.tap(task.roomId, again?.eventId ?? '', '✅');
    expect((await held.approval()).status).toBe('approved');
  });

  it.each(['tap', 'words', 'command', 'api'])(
    'an answer to an expired one by %s',
    async (means) => {
      const task = await openRoomTask(world);
      const held = await askFor(world, task, 'systemctl restart nginx');
      await world.database.read.$executeRaw`
      UPDATE approvals SET expires_at = clock_timestamp() - interval '1 ms' WHERE id = ${held.approvalId}::uuid`;
      await expireDueApprovals(world.database);
      await world.settle();
      expect(held.card.body).toContain('Nobody decided within');
      if (means === 'tap') await world.tap(task.roomId, held.card.eventId, '✅');
      if (means === 'words') await world.say(task.roomId, 'yes', { replyTo: held.card.eventId });
      if (means === 'command') await world.say(task.roomId, `!approve ${held.shortId}`);
      if (means === 'api') {
        const result = await world.write((unit) =>
          decide(unit, {
            approvalId: held.approvalId,
            verdict: 'approve',
            operator: { userId: ANN, role: 'admin' },
            means: 'api',
          }),
        );
        expect(result).toMatchObject({ kind: 'already', status: 'expired' });
      } else {
        expect(world.lastAnswer().body).toContain('Too late: it expired');
      }
      expect((await held.execution()).status).toBe('expired');
    },
  );

  it('P6: a rule about what there is not is told in the lobby with its line, once, until it is mended', async () => {
    const tell = async (names: string): Promise<void> => {
      const text = `version: 1\nrules:\n  - name: slip\n    match: ${names}\n    never_auto_act: true\n`;
      await world.write((unit) => tellIdleRules(unit, parseRules(text, 'policy.yaml', ontology)));
      await world.settle();
    };
    const cards = (): string[] =>
      world.shown.map(({ body }) => body).filter((body) => body.includes('protect nothing'));
    await tell('{ target: [host:web-1], type: host }');
    expect(cards()).toEqual([]);
    await tell('{ target: [web-99], type: host, tag: [nowhere] }');
    await tell('{ target: [web-99], type: host, tag: [nowhere] }');
    expect(cards()).toHaveLength(1);
    expect(cards()[0]).toContain(
      'policy.yaml:4: rule "slip" is about the target "web-99", but there is no such entity.',
    );
    expect(cards()[0]).toContain('is about the tag "nowhere", but no entity has that tag.');
    expect(cards()[0]).toContain('The rules stay in force');
    await tell('{ target: [host:web-1] }');
    expect(cards()).toHaveLength(1);
    expect(cards()[0]).toMatch(/^☑️.*\nDealt with/m);
  });

  it('a policy with an unknown key', () => {
    expect(() =>
      parseRules(
        'version: 1\nrules:\n  - name: a\n    never_auto_akt: true',
        'policy.yaml',
        ontology,
      ),
    ).toThrow(/policy\.yaml:4:\d+: unknown key "never_auto_akt"/);
  });
});

describe.skipIf(findSshd() === undefined)(
  'A19, Z5: the host key is checked before an approved command is sent',
  () => {
    it('another key than the pinned one: the command is not sent, it ends with both keys named, and the agent is woken', async () => {
      const server = await TestSshd.start();
      const { address, port, user } = server.endpoint;
      const model = await startScriptedModel();
      const bench = await benchOn({
        inventory: parseInventory(
          `version: 1\nentities:\n  - { slug: 'host:web-1', type: host, attributes: { address: ${address}, ssh_port: ${port}, ssh_user: ${user} } }`,
          'fleet.yaml',
          ontology,
        ),
        runner: (database) => runnerFor(server, { hostKeys: databaseHostKeys(database) }),
        modelUrl: model.baseUrl,
      });
      try {
        const task = await bench.open('touch it');
        const outcome = await bench.database.write((unit) =>
          requestExecution(unit, {
            ...task,
            passId: null,
            toolCallId: null,
            target: 'web-1',
            command: 'touch ran',
            purpose: 'Touch it',
          }),
        );
        // It was pinned when the command was asked for; the machine has another one now.
        await bench.database.read.hostKey.create({
          data: {
            host: address,
            port,
            keyType: 'ssh-ed25519',
            publicKey: 'AAAA',
            fingerprint: 'SHA256:another',
          },
        });
        await bench.decide(task.sessionId, 'approve');
        const row = await bench.until(async () => {
          const found = await bench.database.read.execution.findUniqueOrThrow({
            where: { id: outcome.executionId },
          });
          return found.endedAt === null ? undefined : found;
        });
        expect(row).toMatchObject({ status: 'failed', errorCode: 'ssh_host_key_changed' });
        const now = execFileSync('ssh-keygen', ['-lf', path.join(server.dir, 'host_key.pub')], {
          encoding: 'utf8',
        }).split(' ')[1];
        expect(row.error).toContain('SHA256:another');
        expect(row.error).toContain(now);
        expect(existsSync(path.join(server.home, 'ran'))).toBe(false);
        const note = await bench.database.read.message.findFirst({
          where: { sessionId: task.sessionId, role: 'note' },
        });
        expect(note?.text).toContain('ended: failed');
      } finally {
        await bench.close();
        await model.stop();
        await server.stop();
      }
    });
  },
);
