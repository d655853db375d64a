import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId, type SessionId } from '../../core/ids.ts';
import { archiveTask } from '../../core/tasks/archive.ts';
import { completeTask } from '../../core/tasks/complete.ts';
import { addNote } from '../../core/tasks/messages.ts';
import { queuePass } from '../../core/tasks/turns.ts';
import { ApiWorld, KNOWN_SECRET } from '../support/api-world.ts';
import { ann, bob, eve } from '../support/core-world.ts';

let world: ApiWorld;
let reader: string;
let worker: string;

beforeAll(async () => {
  world = await ApiWorld.open();
  reader = await world.token(['read']);
  worker = await world.token(['operate']);
});
afterAll(() => world[Symbol.asyncDispose]());

const ids = (body: Record<string, unknown>): string[] =>
  (body['sessions'] as Array<{ id: string }>).map((session) => session.id);

/** Reads all pages of a list, following `next`. */
async function allPages(path: string, key: string): Promise<Array<{ id: string }>> {
  const found: Array<{ id: string }> = [];
  let next: string | null = null;
  for (let pages = 0; pages < 100; pages++) {
    const from: string = next === null ? '' : `&before=${encodeURIComponent(next)}`;
    const { status, body } = await world.get(path + from, reader);
    expect(status).toBe(200);
    found.push(...(body[key] as Array<{ id: string }>));
    next = body['next'] as string | null;
    if (next === null) return found;
  }
  throw new Error('the list has no end');
}

describe('the list of tasks', () => {
  it('H1: every task stands on exactly one page, also where many were active in the same millisecond', async () => {
    await using own = await ApiWorld.open();
    const token = await own.token(['read']);
    const sessions = Array.from({ length: 25 }, (_, index) => ({
      id: newId(),
      shortId: `s${String(index).padStart(4, '0')}`,
      createdBy: ann.userId,
      origin: { kind: 'lobby' },
      // Five groups of five, a millisecond apart: page borders fall inside a group and between groups.
      lastActivityAt: new Date(1_764_000_000_123 + Math.floor(index / 5)),
    }));
    await own.core.database.read.session.createMany({ data: sessions });
    for (const limit of [1, 3, 5, 7, 25, 200]) {
      const found: string[] = [];
      let before = '';
      do {
        const { body } = await own.get(`/api/v1/sessions?limit=${limit}${before}`, token);
        expect(ids(body).length).toBeLessThanOrEqual(limit);
        found.push(...ids(body));
        before = typeof body['next'] === 'string' ? `&before=${body['next']}` : '';
      } while (before !== '');
      const expected = sessions
        .toSorted(
          (a, b) =>
            b.lastActivityAt.getTime() - a.lastActivityAt.getTime() || (a.id < b.id ? 1 : -1),
        )
        .map((session) => session.id);
      expect(found).toEqual(expected);
    }
  });

  it('H1: tells what each task is, with its count of waiting approvals', async () => {
    const task = await world.core.task('update lxc:c');
    await world.core.request(task, 'lxc:c', 'apt-get -y upgrade');
    await world.core.request(task, 'host:a', 'systemctl restart nginx');
    const { body } = await world.get('/api/v1/sessions', reader);
    expect((body['sessions'] as unknown[])[0]).toEqual({
      id: task.sessionId,
      shortId: expect.stringMatching(/^[a-z0-9]{5}$/),
      goal: null,
      title: null,
      status: 'awaiting_approval',
      outcome: null,
      summary: null,
      createdBy: ann.userId,
      createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      lastActivityAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      endedAt: null,
      pendingApprovals: 2,
    });
  });

  it('H1: filters by status and by words, which are taken as they are', async () => {
    const task = await world.core.task('count 100% of_it');
    await world.core.database.read.session.update({
      where: { id: task.sessionId },
      data: { goal: String.raw`Reach 100% of_it \ now`, status: 'planning' },
    });
    const by = async (query: string): Promise<string[]> =>
      ids((await world.get(`/api/v1/sessions?${query}`, reader)).body);
    expect(await by('status=planning')).toEqual([task.sessionId]);
    for (const text of ['reach 100%', 'OF_IT', '\\', '%', 'f_i']) {
      expect(await by(`text=${encodeURIComponent(text)}`)).toEqual([task.sessionId]);
    }
    expect(await by(`text=${encodeURIComponent('f%i')}`)).toEqual([]);
    expect(await by(`text=${encodeURIComponent("' OR 1=1 --")}`)).toEqual([]);
  });

  it.each([
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1e2',
    'limit=0x10',
    'limit=',
    'limit=%205',
    'limit=5&limit=6',
    'status=sleeping',
    'status=',
    'before=0',
    'before=nonsense',
    `before=${'9'.repeat(15)}_${newId()}`.replace(/.$/, 'Z'),
    `before=${'9'.repeat(16)}_${newId()}`,
    'text=',
    'text=%00',
    `text=${'x'.repeat(201)}`,
    'unknown=1',
    'LIMIT=5',
  ])('Z7: refuses the query "%s" and names the field', async (query) => {
    const { status, headers, body } = await world.get(`/api/v1/sessions?${query}`, reader);
    expect(status).toBe(400);
    expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(body['code']).toBe('request_invalid');
    expect(String(body['detail'])).toMatch(/limit|status|before|text|unknown|LIMIT/);
  });

  it('H1: a cursor from the far future or past is a place in the list like any other', async () => {
    const far = await world.get(`/api/v1/sessions?before=8640000000000000_${newId()}`, reader);
    expect(far.status).toBe(200);
    expect(ids(far.body).length).toBeGreaterThan(0);
    const past = await world.get(`/api/v1/sessions?before=0_${newId()}`, reader);
    expect(past.body).toEqual({ sessions: [], next: null });
  });
});

describe('one task', () => {
  it('H1, X9: shows messages, plan and questions in order, without the secrets in them', async () => {
    const task = await world.core.task(`restore it, the password is "password=Tr0ub4dor-and-3"`);
    const { database } = world.core;
    await database.write(async (unit) => {
      await addNote(unit, { ...task, text: `export DB_PASSWORD=hunter2-and-more ${KNOWN_SECRET}` });
      await unit.db.message.create({
        data: {
          id: newId(),
          sessionId: task.sessionId,
          turnId: task.turnId,
          role: 'assistant',
          text: 'I look.',
          toolCalls: [
            {
              id: 'call_1',
              name: 'run',
              arguments: JSON.stringify({
                command: `curl -H 'Authorization: Bearer ${'a1B2'.repeat(8)}'`,
              }),
              apiKey: 'plain-words-but-a-key',
            },
          ],
        },
      });
      await unit.db.planStep.create({
        data: {
          id: newId(),
          sessionId: task.sessionId,
          generation: 1,
          seq: 1,
          title: `use ${KNOWN_SECRET}`,
        },
      });
      await unit.db.question.create({
        data: {
          id: newId(),
          sessionId: task.sessionId,
          turnId: task.turnId,
          prompt: `Is ${KNOWN_SECRET} right?`,
          options: [KNOWN_SECRET, 'no'],
          entities: [],
        },
      });
      await unit.db.session.update({
        where: { id: task.sessionId },
        data: { goal: `goal ${KNOWN_SECRET}`, title: `title ${KNOWN_SECRET}` },
      });
    });
    const { status, body, text } = await world.get(`/api/v1/sessions/${task.sessionId}`, reader);
    expect(status).toBe(200);
    for (const secret of [
      KNOWN_SECRET,
      'Tr0ub4dor',
      'hunter2',
      'a1B2a1B2',
      'plain-words-but-a-key',
    ]) {
      expect(text).not.toContain(secret);
    }
    expect(text).toContain('[masked]');
    expect(body['id']).toBe(task.sessionId);
    const messages = body['messages'] as Array<{ seq: number; role: string }>;
    expect(messages.map((message) => message.role)).toEqual(['operator', 'note', 'assistant']);
    const list = await world.get('/api/v1/sessions?limit=200', reader);
    expect(list.text).not.toContain(KNOWN_SECRET);
  });

  it('H1: messages come in pages from the newest back', async () => {
    const task = await world.core.task('many');
    await world.core.database.write(async (unit) => {
      for (let n = 1; n <= 6; n++) await addNote(unit, { ...task, text: `note ${n}` });
    });
    const page = async (query: string): Promise<Array<{ seq: number; text: string }>> =>
      (await world.get(`/api/v1/sessions/${task.sessionId}?${query}`, reader)).body[
        'messages'
      ] as Array<{ seq: number; text: string }>;
    const newest = await page('limit=3');
    expect(newest.map((message) => message.text)).toEqual(['note 4', 'note 5', 'note 6']);
    const older = await page(`limit=10&before=${newest[0]?.seq}`);
    expect(older.map((message) => message.text)).toEqual(['many', 'note 1', 'note 2', 'note 3']);
  });

  it('T13: what an operator took back is not shown', async () => {
    const task = await world.core.task('words that were regretted');
    await world.core.database.read.message.updateMany({
      where: { sessionId: task.sessionId },
      data: { redactedAt: new Date() },
    });
    const { text, body } = await world.get(`/api/v1/sessions/${task.sessionId}`, reader);
    expect(text).not.toContain('regretted');
    expect(body['messages']).toMatchObject([{ redacted: true, text: '' }]);
  });

  it('H1, C6: the digest counts what ran and how it was allowed', async () => {
    const task = await world.core.task('look and change');
    await world.core.request(task, 'host:a', 'uptime');
    await world.core.request(task, 'host:b', 'systemctl restart nginx');
    await world.core.database.write(async (unit) =>
      completeTask(unit, {
        sessionId: task.sessionId,
        outcome: 'partial',
        summary: `half, ${KNOWN_SECRET}`,
        by: 'agent',
      }),
    );
    const { status, body } = await world.get(`/api/v1/sessions/${task.sessionId}/digest`, reader);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'done',
      outcome: 'partial',
      summary: 'half, [masked]',
      byStatus: [{ status: 'cancelled', count: 2 }],
      allowed: { byClass: 1, byGrant: 0, byApproval: 0, denied: 0 },
      entities: ['host:a', 'host:b'],
    });
  });

  it('H1, K12: the review counts calls by tool, names what was repeated and failed, and what to do better, without secrets', async () => {
    const task = await world.core.task('look again and again');
    await world.core.database.write(async (unit) => {
      const passId = await queuePass(unit, { ...task, cause: 'message' });
      await unit.db.toolCall.createMany({
        data: Array.from({ length: 5 }, (_, index) => ({
          id: newId(),
          sessionId: task.sessionId,
          turnId: task.turnId,
          passId,
          callId: `call-${index}`,
          name: 'run',
          arguments: { target: `host:${index}`, command: `echo ${KNOWN_SECRET}` },
          state: 'done' as const,
          success: index > 2,
          durationMs: 10,
          result: 'x',
        })),
      });
    });
    const { status, body } = await world.get(`/api/v1/sessions/${task.sessionId}/review`, reader);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'active',
      outcome: null,
      calls: [{ tool: 'run', count: 5, failed: 3, meanMs: 10 }],
      fanOut: [{ tool: 'run', what: 'echo [masked]', count: 5 }],
      advice: [expect.stringContaining('was run 5 times'), 'run failed 3 times out of 5.'],
    });
  });

  it.each(['', '/digest', '/review'])(
    'Z7: says 404 for a task that is not there, 400 for what is no id (%s)',
    async (rest) => {
      expect(await world.get(`/api/v1/sessions/${newId()}${rest}`, reader)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
      for (const id of [
        '1',
        newId().toUpperCase(),
        `${newId()}0`,
        '%00',
        "'--",
        '..%2f..',
        '%E0%A4%A',
      ]) {
        expect(await world.get(`/api/v1/sessions/${id}${rest}`, reader)).toMatchObject({
          status: 400,
          body: { code: 'request_invalid' },
        });
      }
    },
  );
});

describe('changing a task', () => {
  it('H1, T2, T12: starts a task in the name of the token’s operator, with its room to be made', async () => {
    const { status, headers, body } = await world.post('/api/v1/sessions', worker, {
      text: '  check the disks  ',
    });
    expect(status).toBe(201);
    expect(headers['location']).toBe(`/api/v1/sessions/${String(body['id'])}`);
    const one = await world.get(String(headers['location']), reader);
    expect(one.body).toMatchObject({
      createdBy: ann.userId,
      status: 'active',
      messages: [{ role: 'operator', sender: ann.userId, text: 'check the disks' }],
    });
    const { read } = world.core.database;
    expect(await read.session.findUnique({ where: { id: String(body['id']) } })).toMatchObject({
      origin: { kind: 'api' },
    });
    expect(
      await read.pass.count({ where: { sessionId: String(body['id']), state: 'queued' } }),
    ).toBe(1);
    expect(
      await read.auditEntry.findFirst({
        where: { action: 'api.session.start' },
        orderBy: { id: 'desc' },
      }),
    ).toMatchObject({ actor: ann.userId, data: { token: expect.stringMatching(/^t\d+$/) } });
  });

  it('H1, T3, T11: a message opens a turn of its own and a finished task again', async () => {
    const task = await world.core.task('first');
    await world.core.database.write(async (unit) =>
      completeTask(unit, {
        sessionId: task.sessionId,
        outcome: 'success',
        summary: 'ok',
        by: 'agent',
      }),
    );
    const { status, body } = await world.post(
      `/api/v1/sessions/${task.sessionId}/message`,
      worker,
      {
        text: 'and again',
      },
    );
    expect(status).toBe(201);
    expect(body['turnId']).not.toBe(task.turnId);
    const one = await world.get(`/api/v1/sessions/${task.sessionId}`, reader);
    expect(one.body).toMatchObject({ status: 'active', endedAt: null, outcome: null });
    const events = await world.core.database.read.event.findMany({
      where: { sessionId: task.sessionId, type: 'turn.created' },
    });
    expect(events).toHaveLength(2);
  });

  it('H1, T5: stops the work of a task', async () => {
    const task = await world.core.task('long');
    const stopped = await world.post(`/api/v1/sessions/${task.sessionId}/stop`, worker);
    expect(stopped).toMatchObject({ status: 200, body: { stopped: 1 } });
    expect(await world.post(`/api/v1/sessions/${task.sessionId}/stop`, worker)).toMatchObject({
      body: { stopped: 0 },
    });
  });

  it('K5: answers a question once; the second answer is told that it is late', async () => {
    const task = await world.core.task('ask me');
    const questionId = newId();
    await world.core.database.read.question.create({
      data: {
        id: questionId,
        sessionId: task.sessionId,
        turnId: task.turnId,
        prompt: 'Which?',
        options: ['a', 'b'],
        entities: [],
      },
    });
    const path = `/api/v1/questions/${questionId}/answer`;
    const both = await Promise.all(
      ['a', 'b'].map((answer) => world.post(path, worker, { answer })),
    );
    expect(both.map((one) => one.status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const row = await world.core.database.read.question.findUniqueOrThrow({
      where: { id: questionId },
    });
    expect(row).toMatchObject({ status: 'answered', answeredBy: ann.userId, answeredVia: 'api' });
    expect(
      await world.post(`/api/v1/questions/${newId()}/answer`, worker, { answer: 'a' }),
    ).toMatchObject({
      status: 404,
    });
  });

  it('H1, T11: an admin deletes a task that was archived, and nobody else any', async () => {
    const task = await world.core.task('to be forgotten');
    const path = `/api/v1/sessions/${task.sessionId}`;
    expect(await world.call('DELETE', path, { token: worker })).toMatchObject({
      status: 409,
      body: { code: 'task_not_archived' },
    });
    await world.core.database.write(async (unit) =>
      archiveTask(unit, { sessionId: task.sessionId, by: ann.userId }),
    );
    for (const [token, code] of [
      [reader, 'scope_missing'],
      [await world.token(['operate'], bob), 'role_missing'],
    ] as const) {
      expect(await world.call('DELETE', path, { token })).toMatchObject({
        status: 403,
        body: { code },
      });
    }
    expect(await world.call('DELETE', path, { token: worker })).toMatchObject({
      status: 200,
      body: { result: 'deleted' },
    });
    expect(await world.get(path, reader)).toMatchObject({ status: 404 });
    expect(await world.call('DELETE', path, { token: worker })).toMatchObject({ status: 404 });
  });

  it('Z7: nothing is half done when a task is not there or archived', async () => {
    const missing = newId();
    expect(
      await world.post(`/api/v1/sessions/${missing}/message`, worker, { text: 'x' }),
    ).toMatchObject({ status: 404 });
    expect(await world.post(`/api/v1/sessions/${missing}/stop`, worker)).toMatchObject({
      status: 404,
    });
    const task = await world.core.task('old');
    await world.core.database.read.session.update({
      where: { id: task.sessionId },
      data: { archivedAt: new Date() },
    });
    expect(
      await world.post(`/api/v1/sessions/${task.sessionId}/message`, worker, { text: 'x' }),
    ).toMatchObject({ status: 409, body: { code: 'task_archived' } });
    expect(
      await world.core.database.read.turn.count({ where: { sessionId: task.sessionId } }),
    ).toBe(1);
    expect(
      await world.core.database.read.auditEntry.count({
        where: { subject: { in: [missing, task.sessionId] } },
      }),
    ).toBe(0);
  });

  it.each([
    [{}, 'text'],
    [{ text: '' }, 'text'],
    [{ text: ' \n ' }, 'text'],
    [{ text: 5 }, 'text'],
    [{ text: null }, 'text'],
    [{ text: ['x'] }, 'text'],
    [{ text: 'a\0b' }, 'text'],
    [{ text: 'half \ud800' }, 'text'],
    [{ text: 'x'.repeat(32_001) }, 'text'],
    [{ text: 'x', by: '@eve:test' }, 'by'],
    [{ text: 'x', createdBy: 'me' }, 'createdBy'],
    ['[]', 'body'],
    ['"x"', 'body'],
    ['null', 'body'],
    ['{"text":"x","__proto__":{"a":1}}', '__proto__'],
    ['{"text":"x","constructor":1}', 'constructor'],
  ])('Z7: refuses the body %j and names %s', async (body, field) => {
    const before = await world.core.database.read.session.count();
    const answer = await world.post('/api/v1/sessions', worker, body);
    expect(answer.status).toBe(400);
    expect(String(answer.body['detail'])).toContain(field);
    expect(await world.core.database.read.session.count()).toBe(before);
  });

  it('A15: a viewer’s token may start a task, as a viewer may in a room, but not cancel a command', async () => {
    const token = await world.token(['operate'], eve);
    expect((await world.post('/api/v1/sessions', token, { text: 'look' })).status).toBe(201);
    const task = await world.core.task('x');
    const outcome = await world.core.request(task, 'host:a', 'systemctl stop x');
    const refused = await world.post(`/api/v1/executions/${outcome.executionId}/cancel`, token);
    expect(refused).toMatchObject({ status: 403, body: { code: 'role_missing' } });
  });
});

describe('executions', () => {
  it('H1: lists by status and task, page by page, newest first, each once', async () => {
    const task = await world.core.task('many commands');
    const made: string[] = [];
    for (let n = 0; n < 7; n++) {
      made.push(
        (await world.core.request(task, 'host:a', `systemctl restart unit-${n}`)).executionId,
      );
    }
    await world.core.request(task, 'host:a', 'uptime');
    const session = task.sessionId;
    const waiting = await allPages(
      `/api/v1/executions?session=${session}&status=pending_approval&limit=3`,
      'executions',
    );
    expect(waiting.map((one) => one.id).toSorted()).toEqual(made.toSorted());
    expect(new Set(waiting.map((one) => one.id)).size).toBe(7);
    const all = await allPages(`/api/v1/executions?session=${session}&limit=2`, 'executions');
    expect(all).toHaveLength(8);
    expect(
      await allPages(`/api/v1/executions?session=${newId<SessionId>()}`, 'executions'),
    ).toEqual([]);
    for (const query of ['status=asleep', 'session=1', 'before=1', 'limit=500', 'x=1']) {
      expect((await world.get(`/api/v1/executions?${query}`, reader)).status).toBe(400);
    }
  });

  it('H1, X4, X9: shows one with its output; secrets in its command are masked', async () => {
    const task = await world.core.task('secret');
    const { executionId } = await world.core.request(
      task,
      'host:a',
      `mysql -u root --password=S3cr3t-words -e 'update t set a = 1' # ${KNOWN_SECRET}`,
    );
    await world.core.database.read.execution.update({
      where: { id: executionId },
      data: { stdout: 'all', stderr: `warn ${KNOWN_SECRET}`, stdoutBytes: 5_000_000_000n },
    });
    const one = await world.get(`/api/v1/executions/${executionId}`, reader);
    expect(one).toMatchObject({
      status: 200,
      body: { id: executionId, target: 'host:a', stdoutBytes: 5_000_000_000, allowedBy: null },
    });
    expect(one.body).toMatchObject({
      host: { slug: 'host:a', address: '192.0.2.1', port: 22, user: 'root' },
      container: null,
    });
    const output = await world.get(`/api/v1/executions/${executionId}/output`, reader);
    expect(output.body).toMatchObject({ stdout: 'all', stderr: 'warn [masked]' });
    const list = await world.get(`/api/v1/executions?session=${task.sessionId}`, reader);
    const approvals = await world.get('/api/v1/approvals', reader);
    for (const { text } of [one, output, list, approvals]) {
      expect(text).not.toContain('S3cr3t-words');
      expect(text).not.toContain(KNOWN_SECRET);
    }
    expect((await world.get(`/api/v1/executions/${newId()}`, reader)).status).toBe(404);
    expect((await world.get('/api/v1/executions/x/output', reader)).status).toBe(400);
  });

  it('X5: cancels what waits, asks the worker of what runs, and says when it is over', async () => {
    const token = await world.token(['operate'], bob);
    const task = await world.core.task('to be cancelled');
    const waiting = await world.core.request(task, 'host:a', 'systemctl restart a');
    const path = `/api/v1/executions/${waiting.executionId}/cancel`;
    expect((await world.post(path, token)).body).toEqual({ result: 'cancelled' });
    expect((await world.post(path, token)).body).toEqual({ result: 'already_ended' });
    const runs = await world.core.request(task, 'host:a', 'sleep 5; uptime');
    await world.core.database.read.execution.update({
      where: { id: runs.executionId },
      data: { status: 'running' },
    });
    expect((await world.post(`/api/v1/executions/${runs.executionId}/cancel`, token)).body).toEqual(
      {
        result: 'requested',
      },
    );
    expect((await world.get(`/api/v1/executions/${runs.executionId}`, reader)).body).toMatchObject({
      cancelRequestedBy: bob.userId,
      status: 'running',
    });
    expect((await world.post(`/api/v1/executions/${newId()}/cancel`, token)).status).toBe(404);
  });
});
