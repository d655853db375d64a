import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { verifyAudit } from '../../core/audit/verify.ts';
import { decide } from '../../core/approvals/decide.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { asId, newId, type ApprovalId } from '../../core/ids.ts';
import { setRules } from '../../core/policy/rule-store.ts';
import { NO_RULES, parseRules } from '../../core/policy/rules-file.ts';
import { ApiWorld, KNOWN_SECRET } from '../support/api-world.ts';
import { ann, bob, eve, type TestTask } from '../support/core-world.ts';

let world: ApiWorld;
let approver: string;

beforeAll(async () => {
  world = await ApiWorld.open();
  approver = await world.token(['approve'], bob);
});
afterAll(() => world[Symbol.asyncDispose]());
afterEach(() => setRules(NO_RULES));

/** Puts one rule of policy.yaml in force. */
function rule(demand: string): void {
  const text = `version: 1\nrules:\n  - { name: a rule, ${demand} }`;
  setRules(parseRules(text, 'policy.yaml', loadOntology('seeds/ontology.yaml')));
}

interface Waiting {
  task: TestTask;
  approvalId: ApprovalId;
  executionId: string;
}

async function waiting(command = 'systemctl restart nginx', target = 'host:a'): Promise<Waiting> {
  const task = await world.core.task('change it');
  const outcome = await world.core.request(task, target, command);
  if (outcome.kind !== 'waiting') throw new Error(`"${command}" did not wait: ${outcome.kind}`);
  return { task, approvalId: outcome.approvalId, executionId: outcome.executionId };
}

const path = (approvalId: string): string => `/api/v1/approvals/${approvalId}/decision`;

describe('a decision by the API', () => {
  it('A7, A8, A9: approves, starts what it covers, opens the grant, and is kept with operator, token and means', async () => {
    const { task, approvalId, executionId } = await waiting();
    const { status, body } = await world.post(path(approvalId), approver, { decision: 'approve' });
    expect([status, body]).toEqual([200, { result: 'approved', executions: [executionId] }]);
    const { read } = world.core.database;
    expect(await read.approval.findUnique({ where: { id: approvalId } })).toMatchObject({
      status: 'approved',
      decidedBy: bob.userId,
      decidedMeans: 'api',
      decidedEvent: expect.stringMatching(/^token:t\d+$/),
    });
    expect(await read.execution.findUnique({ where: { id: executionId } })).toMatchObject({
      status: 'queued',
      allowedBy: 'approval',
    });
    expect(await read.grant.count({ where: { sessionId: task.sessionId, closedAt: null } })).toBe(
      1,
    );
    expect(
      await read.auditEntry.findMany({ where: { subject: approvalId }, orderBy: { id: 'asc' } }),
    ).toMatchObject([
      { action: 'approval.requested' },
      { action: 'api.approval.decision', actor: bob.userId },
      { action: 'approval.approved', actor: bob.userId, data: { means: 'api' } },
    ]);
  });

  it('A12, A14: denies with a reason, which the agent reads', async () => {
    const { task, approvalId, executionId } = await waiting();
    const answer = await world.post(path(approvalId), approver, {
      decision: 'deny',
      reason: '  not during the day  ',
    });
    expect(answer).toMatchObject({ status: 200, body: { result: 'denied' } });
    const { read } = world.core.database;
    expect(await read.execution.findUnique({ where: { id: executionId } })).toMatchObject({
      status: 'denied',
    });
    const note = await read.message.findFirst({
      where: { sessionId: task.sessionId, role: 'note' },
      orderBy: { seq: 'desc' },
    });
    expect(note?.text).toContain('not during the day');
  });

  it('A3: what is destructive takes the typed confirmation, in words that mean it', async () => {
    const { approvalId, executionId } = await waiting('rm -rf /srv/old');
    const listed = (await world.get('/api/v1/approvals', await world.token(['read']))).body[
      'approvals'
    ] as Array<Record<string, unknown>>;
    expect(listed.find((one) => one['id'] === approvalId)).toMatchObject({
      needsTyped: true,
      risk: 'destructive',
      executions: [{ id: executionId, command: 'rm -rf /srv/old', preview: null }],
    });
    for (const confirmation of [
      undefined,
      '',
      'yes',
      'I do not confirm',
      'I confirm?',
      "I can't confirm",
      // Of something else.
      'I confirm the deletion on host:b',
      'I confirm zzzz9',
    ]) {
      const answer = await world.post(path(approvalId), approver, {
        decision: 'approve',
        ...(confirmation === undefined ? {} : { confirmation }),
      });
      expect(answer).toMatchObject({ status: 409, body: { code: 'confirmation_needed' } });
      expect(answer.body['hint']).toContain('I confirm');
    }
    const { read } = world.core.database;
    expect(await read.execution.findUnique({ where: { id: executionId } })).toMatchObject({
      status: 'pending_approval',
    });
    const answer = await world.post(path(approvalId), approver, {
      decision: 'approve',
      confirmation: 'I confirm',
    });
    expect(answer).toMatchObject({ status: 200, body: { result: 'approved' } });
    expect(await read.approval.findUnique({ where: { id: approvalId } })).toMatchObject({
      decidedWords: 'I confirm',
    });
  });

  it('A7, R3: of many decisions at once, by taps and by the API, exactly one is applied and the others are told', async () => {
    for (let round = 0; round < 6; round++) {
      const { approvalId, executionId } = await waiting();
      const byApi = (decision: 'approve' | 'deny') =>
        world.post(path(approvalId), approver, { decision });
      const byTap = (verdict: 'approve' | 'deny') =>
        world.core.database.write((unit) =>
          decide(unit, {
            approvalId,
            verdict,
            operator: ann,
            means: 'tap',
            eventId: `$${newId()}`,
          }),
        );
      const [taps, answers] = await Promise.all([
        Promise.all([byTap('approve'), byTap('deny')]),
        Promise.all([byApi('deny'), byApi('approve'), byApi('approve')]),
      ]);
      const applied =
        taps.filter((one) => one.kind !== 'already').length +
        answers.filter((one) => one.status === 200).length;
      expect(applied).toBe(1);
      for (const late of answers.filter((one) => one.status !== 200)) {
        expect(late).toMatchObject({ status: 409, body: { code: 'already_decided' } });
        expect(late.body['fields']).toMatchObject({
          status: expect.stringMatching(/^(approved|denied)$/),
          by: expect.stringMatching(/^@(ann|bob):test$/),
          at: expect.stringMatching(/^\d{4}-/),
        });
      }
      const decisions = await world.core.database.read.auditEntry.count({
        where: { subject: approvalId, action: { in: ['approval.approved', 'approval.denied'] } },
      });
      expect(decisions).toBe(1);
      const execution = await world.core.database.read.execution.findUniqueOrThrow({
        where: { id: executionId },
      });
      expect(['queued', 'denied']).toContain(execution.status);
    }
    expect(await verifyAudit(world.core.database)).toMatchObject({ broken: null });
  });

  it('A14: one that expired is told so, and its execution has expired too', async () => {
    const { approvalId, executionId } = await waiting();
    await world.core.database.read.$executeRaw`
      UPDATE approvals SET expires_at = clock_timestamp() - interval '1 second' WHERE id = ${approvalId}::uuid`;
    expect(await world.post(path(approvalId), approver, { decision: 'approve' })).toMatchObject({
      status: 409,
      body: { code: 'approval_expired' },
    });
    expect(
      await world.core.database.read.execution.findUnique({ where: { id: executionId } }),
    ).toMatchObject({ status: 'expired' });
  });

  it('A15: the role of the token’s operator holds: a viewer decides nothing, an admin’s approval takes an admin', async () => {
    rule('approval: { role: admin }');
    const { approvalId } = await waiting();
    const viewer = await world.token(['approve'], eve);
    expect(await world.post(path(approvalId), viewer, { decision: 'approve' })).toMatchObject({
      status: 403,
      body: { code: 'decision_not_allowed' },
    });
    expect((await world.post(path(approvalId), approver, { decision: 'approve' })).status).toBe(
      403,
    );
    const admin = await world.token(['approve'], ann);
    expect((await world.post(path(approvalId), admin, { decision: 'approve' })).status).toBe(200);
  });

  it('A15: where two people are needed, two tokens of one person are one', async () => {
    rule('approval: { people: 2 }');
    const { approvalId, executionId } = await waiting();
    const again = await world.token(['approve'], bob);
    for (const token of [approver, again, approver]) {
      expect((await world.post(path(approvalId), token, { decision: 'approve' })).body).toEqual({
        result: 'voted',
        have: 1,
        need: 2,
      });
    }
    const admin = await world.token(['approve'], ann);
    expect((await world.post(path(approvalId), admin, { decision: 'approve' })).body).toEqual({
      result: 'approved',
      executions: [executionId],
    });
  });

  it.each([
    [{}, 'decision'],
    [{ decision: 'yes' }, 'decision'],
    [{ decision: 'APPROVE' }, 'decision'],
    [{ decision: ['approve'] }, 'decision'],
    [{ decision: 'approve', operator: '@ann:test' }, 'operator'],
    [{ decision: 'approve', confirm: true }, 'confirm'],
    [{ decision: 'approve', confirmation: 'x'.repeat(501) }, 'confirmation'],
    [{ decision: 'approve', confirmation: 'I\0confirm' }, 'confirmation'],
    [{ decision: 'deny', reason: '' }, 'reason'],
    [{ decision: 'deny', reason: 'half \udc00' }, 'reason'],
    [{ decision: 'deny', reason: 'x'.repeat(2_001) }, 'reason'],
  ])('Z7: refuses %j, names %s, and decides nothing', async (body, field) => {
    const { approvalId } = await waiting();
    const answer = await world.post(path(approvalId), approver, body);
    expect(answer.status).toBe(400);
    expect(String(answer.body['detail'])).toContain(field);
    expect(
      await world.core.database.read.approval.findUnique({ where: { id: approvalId } }),
    ).toMatchObject({ status: 'pending' });
  });

  it('Z7: 404 for an approval that is not there, 400 for what is no id, and no trace of either in the audit log', async () => {
    const missing = newId();
    const before = await world.core.database.read.auditEntry.count();
    expect((await world.post(path(missing), approver, { decision: 'deny' })).status).toBe(404);
    expect((await world.post(path('k3x9f'), approver, { decision: 'deny' })).status).toBe(400);
    expect(await world.core.database.read.auditEntry.count()).toBe(before);
  });

  it('X9: the list of what waits masks secrets in commands and purposes', async () => {
    await waiting(`PGPASSWORD=hunter2-and-more psql -c 'update t set a = 1' # ${KNOWN_SECRET}`);
    const { status, text, body } = await world.get(
      '/api/v1/approvals',
      await world.token(['read']),
    );
    expect(status).toBe(200);
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain(KNOWN_SECRET);
    expect((body['approvals'] as unknown[]).length).toBeGreaterThan(0);
    expect(
      (await world.get('/api/v1/approvals?status=all', await world.token(['read']))).status,
    ).toBe(400);
  });
});

describe('the kill switch by the API', () => {
  it('P7, A15: an approver throws it with a token that may operate; ending it takes one that may approve', async () => {
    const reader = await world.token(['read']);
    const operate = await world.token(['operate'], bob);
    const put = (token: string, body: unknown) =>
      world.call('PUT', '/api/v1/settings/pause', { token, body });
    const { task, approvalId } = await waiting();
    await world.post(path(approvalId), approver, { decision: 'approve' });
    const open = (): Promise<number> =>
      world.core.database.read.grant.count({
        where: { sessionId: asId(task.sessionId), closedAt: null },
      });
    expect(await open()).toBe(1);

    expect((await put(await world.token(['operate'], eve), { paused: true })).status).toBe(403);
    expect((await put(reader, { paused: true })).status).toBe(403);
    expect((await put(operate, { paused: 'yes' })).status).toBe(400);
    expect((await world.get('/api/v1/settings/pause', reader)).body).toEqual({ paused: false });

    expect((await put(operate, { paused: true })).body).toEqual({ paused: true, changed: true });
    expect((await put(operate, { paused: true })).body).toEqual({ paused: true, changed: false });
    expect(await open()).toBe(0);
    expect((await world.core.request(task, 'host:a', 'uptime')).kind).toBe('waiting');

    expect((await put(operate, { paused: false })).status).toBe(403);
    expect((await world.get('/api/v1/settings/pause', reader)).body).toEqual({ paused: true });
    expect((await put(approver, { paused: false })).body).toEqual({ paused: false, changed: true });
    expect((await world.core.request(task, 'host:b', 'uptime')).kind).toBe('queued');
  });
});

describe('the audit log by the API', () => {
  it('R15: says that it is whole, and where it is not', async () => {
    await using own = await ApiWorld.open();
    const token = await own.token(['read']);
    await own.core.task('x');
    await own.core.task('y');
    const whole = await own.get('/api/v1/audit/verify', token);
    expect(whole).toMatchObject({ status: 200, body: { ok: true, broken: null } });
    const { read } = own.core.database;
    const second = await read.auditEntry.findFirstOrThrow({ orderBy: { id: 'asc' }, skip: 1 });
    await read.$executeRaw`ALTER TABLE audit_log DISABLE TRIGGER audit_append_only`;
    await read.$executeRaw`UPDATE audit_log SET actor = '@someone:else' WHERE id = ${second.id}`;
    expect((await own.get('/api/v1/audit/verify', token)).body).toEqual({
      ok: false,
      entries: whole.body['entries'],
      broken: { id: Number(second.id), why: 'changed' },
    });
  });
});
