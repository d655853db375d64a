import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDemoFleet } from '../../demo/fleet/index.ts';
import { startDemoModel } from '../../demo/model/index.ts';
import { DemoOperator } from '../../demo/operator.ts';
import { deletion, restart } from '../../demo/scenes.ts';
import type { Person } from '../support/matrix.ts';
import { NomosWorld } from '../support/nomos-world.ts';
import { limitedHomeserver } from '../support/services.ts';
import { linesIn, run } from '../support/replies.ts';

describe('at work', () => {
  let world: NomosWorld;
  let ann: Person;
  beforeAll(async () => {
    world = await NomosWorld.open();
    ann = await world.person('ann', 'admin');
    await world.start({ NOMOS_APPROVAL_TTL: '4s' });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
  });

  test('A1, A14: nobody decides in time: nothing runs, the card says expired, the agent is told, a late tap is answered', async () => {
    const file = path.join(world.sshd.home, 'late');
    world.model.script(
      { toolCalls: [run(`echo run >> ${file}`, 'A change that nobody decides')] },
      { text: 'I asked for it.' },
      (request) => {
        expect(request.messages.map(({ content }) => content).join('\n')).toMatch(/EXPIRED/);
        return { text: 'It expired, nothing was changed.' };
      },
    );
    const { roomId } = await world.ask(ann, 'a change that nobody decides');
    const card = await world.waiting(ann, roomId);
    await world.card(
      ann,
      roomId,
      ({ body }) => body.includes('nothing was changed'),
      'the agent says so',
    );
    const expired = await world.card(
      ann,
      roomId,
      ({ card: key, body }) => key === card.card && /expired/i.test(body),
      'the card says expired',
    );
    expect(expired.eventId).toBe(card.eventId);
    const before = (await world.shown(ann, roomId)).length;
    await ann.react(roomId, card.eventId, '✅');
    const answer = await world.until('the late tap is answered', async () =>
      (await world.shown(ann, roomId)).slice(before).find(({ body }) => /expired/i.test(body)),
    );
    expect(answer.body).not.toBe('');
    expect(linesIn(file)).toBe(0);
    world.model.verify();
  });

  test('X3, X12: a host that cannot be reached is told by name, with what to do; nothing runs anywhere else', async () => {
    const file = path.join(world.sshd.home, 'elsewhere');
    world.model.script(
      { toolCalls: [run(`cat /etc/hostname`, 'Look at the host that is away', 'host:away')] },
      (request) => {
        const result = request.messages.findLast(({ role }) => role === 'tool')?.content ?? '';
        expect(result).toMatch(/"status":"failed"/);
        expect(result).toContain('host:away');
        expect(result).toContain('refuses connections');
        expect(result).toContain('Is sshd running there');
        return { text: 'host:away refuses the connection.' };
      },
    );
    const { roomId } = await world.ask(ann, 'look at the host that is away');
    await world.card(
      ann,
      roomId,
      ({ body }) => body.includes('refuses the connection'),
      'the agent says so',
    );
    expect(existsSync(file)).toBe(false);
    world.model.verify();
  });

  test('L1, C7, R11: a model that refuses the key: an error card says what to set, the task stays open and 🔁 goes on', async () => {
    world.model.script({ status: 401, body: { error: { message: 'Incorrect API key provided' } } });
    const { roomId, sessionId } = await world.ask(ann, 'ask a model that refuses');
    const error = await world.card(ann, roomId, ({ kind }) => kind === 'error', 'the error card');
    expect(error.body).toContain('OPENAI_API_KEY');
    expect(error.mentions).toEqual([ann.userId]);
    const session = await world.database.read.session.findUniqueOrThrow({
      where: { id: sessionId },
    });
    expect(session.endedAt).toBeNull();
    world.model.script({ text: 'Here I am again.' });
    await ann.react(roomId, error.eventId, '🔁');
    await world.card(ann, roomId, ({ body }) => body.includes('Here I am again.'), 'it goes on');
    world.model.verify();
  });
});

// Nearly all of its time this one waits for the homeserver: what follows goes on beside it.
describe.concurrent('on a homeserver with default limits', () => {
  /** Synapse's default: one event in 5 s, after 10 at once. */
  const EVENT_MS = 5_000;

  test('R10, C14: the whole demonstration (asked, planned, ✅, “I confirm”, digest) delivers every card, and what needs a person first', async () => {
    await using stack = new AsyncDisposableStack();
    const world = stack.use(await NomosWorld.open({ homeserver: limitedHomeserver }));
    const model = await startDemoModel();
    stack.defer(() => model.stop());
    const fleetHome = mkdtempSync(path.join(tmpdir(), 'nomos-limits-'));
    stack.defer(() => rmSync(fleetHome, { recursive: true, force: true }));
    const fleet = await startDemoFleet({ home: fleetHome, pace: 0.1 });
    stack.defer(() => fleet.stop());
    const account = await world.homeserver.newUser('ann');
    const ann = await world.personOf('ann', account, 'admin');
    await world.start({
      OPENAI_BASE_URL: model.baseUrl,
      NOMOS_MODEL: 'nomos-demo',
      NOMOS_INVENTORY: fleet.inventoryPath,
      NOMOS_SSH_KEY_FILE: fleet.privateKeyPath,
      NOMOS_KNOWN_HOSTS: fleet.knownHostsPath,
    });
    const operator = new DemoOperator({
      url: world.homeserver.url,
      accessToken: account.accessToken,
    });
    operator.start();
    stack.defer(() => operator.stop());
    const lobby = await world.lobby(ann);
    await restart(operator, lobby);
    await deletion(operator, lobby);
    const rows = await world.until(
      'everything has left',
      async () => {
        const all = await world.database.read.matrixOutbox.findMany({ orderBy: { id: 'asc' } });
        return all.some(({ state }) => state === 'pending') ? undefined : all;
      },
      150_000,
    );
    expect(rows.filter(({ state }) => state === 'failed')).toEqual([]);
    const ends = await world.database.read.session.findMany({ select: { outcome: true } });
    expect(ends).toEqual([{ outcome: 'success' }, { outcome: 'success' }]);

    const sent = rows.flatMap(({ kind, cardKey, eventType, priority, createdAt, sentAt }) =>
      sentAt === null
        ? []
        : [
            {
              what: [kind, cardKey?.split(':')[0] ?? eventType].join(' '),
              priority,
              waitedMs: sentAt.getTime() - createdAt.getTime(),
            },
          ],
    );
    const lines = sent.map(
      ({ what, priority, waitedMs }) =>
        `  ${(waitedMs / 1000).toFixed(1).padStart(5)} s  priority ${priority}  ${what}`,
    );
    process.stdout.write(
      `How long each of ${sent.length} events waited under default limits:\n${lines.join('\n')}\n`,
    );
    // For each task: the root of its thread, its card that waits, its answers, its digest; for the deletion what to type.
    const needed = sent.filter(({ what, priority }) => priority === 0 && what.startsWith('send'));
    expect(needed.length).toBeGreaterThanOrEqual(9);
    for (const { what } of needed) {
      expect(what).toMatch(/^send (turn|execution|answer|hint|digest|m\.room\.message)$/);
    }
    // What was being said when it came, two reactions on a card, and the needed ones before it: five events at most.
    const longest = Math.max(...needed.map(({ waitedMs }) => waitedMs));
    expect(longest).toBeLessThan(6 * EVENT_MS);
    const later = sent.filter(({ priority }) => priority > 0).map(({ waitedMs }) => waitedMs);
    expect(Math.max(...later)).toBeGreaterThan(longest);
  }, 400_000);
});

describe.concurrent('meanwhile', () => {
  describe('killed and started again', { concurrent: false }, () => {
    let world: NomosWorld;
    let ann: Person;
    beforeAll(async () => {
      world = await NomosWorld.open();
      ann = await world.person('ann', 'admin');
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
    });

    test.each([
      ['before the worker claims it', 'execution.before_claim_commit'],
      ['after it was claimed, before it starts', 'execution.claimed'],
      ['when it ended, before that is stored', 'execution.ended'],
    ])('R2, R6, R7, J6, X7: killed after the ✅, %s', async (_when, faultPoint) => {
      const name = faultPoint.replaceAll('.', '-');
      const file = path.join(world.sshd.home, name);
      const started = path.join(world.sshd.home, `${name}-started`);
      writeFileSync(file, '');
      world.model.script(
        { toolCalls: [run(`echo run >> ${file}; touch ${started}`, `A change, ${name}`)] },
        { text: 'I asked for it.' },
      );
      await world.start();
      const { roomId, sessionId } = await world.ask(ann, `a change, ${name}`);
      const card = await world.waiting(ann, roomId);
      await world.card(
        ann,
        roomId,
        ({ body }) => body.includes('I asked for it.'),
        'the pass ended',
      );
      await world.end('SIGTERM');

      await world.launch({ NOMOS_FAULT_KILL: faultPoint });
      await ann.react(roomId, card.eventId, '✅');
      await world.ended();

      world.model.script({ text: 'That is the end of it.' });
      await world.start();
      await world.card(
        ann,
        roomId,
        ({ body }) => body.includes('That is the end of it.'),
        'the agent was woken',
      );
      expect(linesIn(file)).toBe(faultPoint === 'execution.claimed' ? linesIn(file) : 1);
      expect(linesIn(file)).toBeLessThanOrEqual(1);
      const execution = await world.database.read.execution.findFirstOrThrow({
        where: { sessionId },
      });
      expect(execution.status).toBe(linesIn(file) === 1 ? 'completed' : execution.status);
      expect(['completed', 'failed', 'unknown']).toContain(execution.status);
      expect(execution.continuation).toBe('woken');
      world.model.verify();
      await world.end('SIGTERM');
    });
  });

  describe('at its start', { concurrent: false }, () => {
    let world: NomosWorld;
    beforeAll(async () => {
      world = await NomosWorld.open();
      await world.person('ann', 'admin');
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
    });

    async function refused(extra: NodeJS.ProcessEnv): Promise<string> {
      const child = await world.launch(extra);
      await world.ended();
      expect(child.exitCode).toBe(1);
      return world.log;
    }

    test('Z1: an empty list of operators is an error that names the option', async () => {
      const log = await refused({ NOMOS_OPERATORS: '' });
      expect(log).toMatch(/NOMOS_OPERATORS names nobody/);
      expect(log).toContain('@ann:example.org=admin');
      expect(log).not.toMatch(/at .*\.ts:\d+/);
    });

    test('C7: a token that the homeserver refuses is told by the option that holds it', async () => {
      const log = await refused({ MATRIX_ACCESS_TOKEN: 'wrong' });
      expect(log).toContain('MATRIX_ACCESS_TOKEN');
      expect(log).not.toMatch(/\n\s+at .*\.ts:\d+/);
    });

    test('F3: an inventory with an unknown type is told with file, line and the types that there are', async () => {
      const file = path.join(world.sshd.home, 'wrong.yaml');
      writeFileSync(file, "version: 1\nentities:\n  - { slug: 'hots:web-1', type: hots }\n");
      const log = await refused({ NOMOS_INVENTORY: file });
      expect(log).toMatch(/wrong\.yaml:3:\d+: unknown entity type "hots"; known: .*host/);
    });

    test('R10: a homeserver that is down is waited for, and said; it is used when it comes', async () => {
      await world.launch({ MATRIX_HOMESERVER_URL: 'http://127.0.0.1:1' });
      await world.until('it says that the homeserver is away', async () =>
        /127\.0\.0\.1:1/.test(world.log) ? true : undefined,
      );
      expect(await world.end('SIGTERM')).toBe(0);
    });
  });
});
