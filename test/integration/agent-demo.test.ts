import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { waitingApprovals } from '../../core/approvals/waiting.ts';
import type { Session } from '../../core/db/rows.ts';
import { databaseHostKeys } from '../../core/executions/host-keys.ts';
import { createRemoteRunner } from '../../core/executions/remote/runner.ts';
import { loadInventory } from '../../core/graph/inventory-file.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { asId, type QuestionId, type SessionId } from '../../core/ids.ts';
import { answerQuestion } from '../../core/tasks/questions.ts';
import { startDemoFleet, type DemoFleet } from '../../demo/fleet/index.ts';
import { startDemoModel, type DemoModel } from '../../demo/model/index.ts';
import { ANN, benchOn, type OpenBench } from '../support/agent-bench.ts';

// The whole of a task but Matrix and the queue: the demo model over the real agent, the real policy and the real SSH
// client, on one demo fleet. Each test works on a fresh fleet too; those that change something come after those that only
// look, and touch different machines.
let home: string;
let fleet: DemoFleet;
let model: DemoModel;
let bench: OpenBench;

beforeAll(async () => {
  model = await startDemoModel({ wordMs: 0 });
  home = await mkdtemp(join(tmpdir(), 'nomos-fleet-'));
  fleet = await startDemoFleet({ home, pace: 0.01 });
});
afterAll(async () => {
  await fleet.stop();
  await model.stop();
  await rm(home, { recursive: true });
});

beforeEach(async () => {
  bench = await benchOn({
    inventory: loadInventory(fleet.inventoryPath, loadOntology('seeds/ontology.yaml')),
    runner: (database) =>
      createRemoteRunner({
        credentials: { keyFile: fleet.privateKeyPath },
        knownHostsFile: fleet.knownHostsPath,
        hostKeys: databaseHostKeys(database),
      }),
    modelUrl: model.baseUrl,
  });
});
afterEach(() => bench.close());

/** Runs the task's passes until it ends or waits for a person. */
async function settle(sessionId: SessionId): Promise<Session> {
  for (;;) {
    const due = await bench.until(async () => {
      const db = bench.database.read;
      if ((await db.pass.count({ where: { sessionId, state: 'queued' } })) > 0) return 'pass';
      const busy = await db.execution.count({
        where: { sessionId, status: { in: ['approved', 'queued', 'running'] } },
      });
      return busy > 0 ? undefined : 'quiet';
    });
    if (due === 'quiet') break;
    await bench.pass(sessionId);
  }
  return bench.database.read.session.findUniqueOrThrow({ where: { id: sessionId } });
}

async function waiting(sessionId: SessionId): Promise<string[]> {
  const approvals = await waitingApprovals(bench.database.read, { sessionId });
  return approvals.flatMap(({ kind, executions }) =>
    kind === 'plan'
      ? ['the plan']
      : executions.map(({ targetSlug, command }) => `${targetSlug} ${command}`),
  );
}

async function commands(sessionId: SessionId): Promise<string[]> {
  const rows = await bench.database.read.execution.findMany({
    where: { sessionId },
    orderBy: { createdAt: 'asc' },
  });
  return rows.map((row) => `${row.status} ${row.targetSlug} ${row.command}`);
}

async function steps(sessionId: SessionId): Promise<string[]> {
  const rows = await bench.database.read.planStep.findMany({
    where: { sessionId },
    orderBy: { seq: 'asc' },
  });
  return rows.map((row) => `${row.status} ${row.title}`);
}

async function answerOf(sessionId: SessionId): Promise<string> {
  const pass = await bench.database.read.pass.findFirstOrThrow({
    where: { sessionId, answer: { not: null } },
    orderBy: { seq: 'desc' },
  });
  return pass.answer ?? '';
}

test('a service that is up is left alone', async () => {
  const { sessionId } = await bench.open('restart postgresql on db-1 if it is down');
  const session = await settle(sessionId);
  expect(session).toMatchObject({
    outcome: 'success',
    summary: 'postgresql on db-1 is active: nothing to restart.',
  });
  expect(await bench.database.read.approval.count()).toBe(0);
});

test('A12: after a no it says so, says what is still so, and stops', async () => {
  const { sessionId } = await bench.open('restart nginx on web-1 if it is down');
  await settle(sessionId);
  await bench.decide(sessionId, 'deny', 'not now');
  const session = await settle(sessionId);
  expect(session).toMatchObject({ status: 'done', outcome: 'partial' });
  expect(session.summary).toBe(
    'You said no: `systemctl restart nginx` on web-1 did not run. I stopped there.\nnginx on web-1 is still failed.',
  );
  expect(
    await bench.database.read.execution.count({
      where: { risk: { not: 'read_only' }, status: 'completed' },
    }),
  ).toBe(0);
});

test('a restart that fails is told with what the machine said', async () => {
  const { sessionId } = await bench.open('restart foobar on web-1');
  await settle(sessionId);
  await bench.decide(sessionId, 'approve');
  const session = await settle(sessionId);
  expect(session.outcome).toBe('failure');
  expect(session.summary).toMatch(
    /^foobar on web-1 could not be restarted: .*foobar\.service not found\. \(exit code 5\)/,
  );
});

test('K5: an unclear wish becomes a question with what there is to choose from, and the answer is carried out', async () => {
  const { sessionId } = await bench.open('clean up the backups');
  expect(await settle(sessionId)).toMatchObject({ status: 'awaiting_input' });
  const question = await bench.database.read.question.findFirstOrThrow({ where: { sessionId } });
  expect(question.options).toEqual([
    expect.stringMatching(/^\/srv\/backup\/2023-old \(\d+G\)$/),
    expect.stringMatching(/^\/srv\/backup\/daily /),
    expect.stringMatching(/^\/srv\/backup\/weekly /),
    'Nothing, leave it as it is',
  ]);
  const answer = (question.options as string[])[0] ?? '';
  await bench.database.write((unit) =>
    answerQuestion(unit, {
      questionId: asId<QuestionId>(question.id),
      answer,
      by: ANN,
      via: 'tap',
    }),
  );
  await settle(sessionId);
  expect(await waiting(sessionId)).toEqual(['host:nas-1 rm -rf /srv/backup/2023-old']);
});

test('T9: a question is answered by looking alone, and that ends the task', async () => {
  const { sessionId } = await bench.open('how are the disks?');
  const session = await settle(sessionId);
  expect(session).toMatchObject({ status: 'done', outcome: 'success', goal: null });
  expect(session.summary).toMatch(/^\/srv\/backup on nas-1 is 9\d % full, with \d+G left\.$/);
  expect(await bench.database.read.approval.count()).toBe(0);
});

test('the health of the fleet names what has failed', async () => {
  const { sessionId } = await bench.open('how is the fleet?');
  await settle(sessionId);
  expect(await answerOf(sessionId)).toMatch(
    /^1 of 8 machines need a look: web-1\.[^]*failed: nginx\.service 🔴[^]*- old-wiki: stopped/,
  );
});

test('L1: anything else gets what it is, what it can play and how to connect a real model', async () => {
  const { sessionId } = await bench.open('write me a poem');
  await settle(sessionId);
  const answer = await answerOf(sessionId);
  expect(answer).toMatch(/demo model[^]*OPENAI_API_KEY[^]*OPENAI_BASE_URL[^]*NOMOS_MODEL/);
});

test('the main path: looks at the disks, finds nginx down, asks, restarts it, checks, and ends with what is true', async () => {
  const { sessionId } = await bench.open(
    'check the disks and restart nginx on web-1 if it is down',
  );
  await settle(sessionId);
  expect(await waiting(sessionId)).toEqual(['host:web-1 systemctl restart nginx']);
  expect(await answerOf(sessionId)).toContain('wait for your decision');
  await bench.decide(sessionId, 'approve');
  const session = await settle(sessionId);
  expect(session).toMatchObject({
    goal: 'nginx runs on web-1',
    status: 'done',
    outcome: 'success',
  });
  expect(session.summary).toMatch(
    /nginx on web-1 is active again; it was failed\.[^]*host not found in upstream[^]*nas-1: .*\/srv\/backup 9\d %/,
  );
  expect(await steps(sessionId)).toEqual([
    'done Look at nginx and the disks',
    'done Restart nginx on web-1',
    'done Check that nginx is active',
  ]);
  expect((await commands(sessionId)).slice(-2)).toEqual([
    'completed host:web-1 systemctl restart nginx',
    'completed host:web-1 systemctl is-active nginx',
  ]);
  const web = await bench.database.read.entity.findUniqueOrThrow({ where: { slug: 'host:web-1' } });
  expect(web.attributes).toMatchObject({ nginx_state: 'active after a restart; it was failed' });
});

test('A9, A11: upgrades several containers, one after another under one ✅ on the plan, and tells what changed', async () => {
  const { sessionId } = await bench.open('upgrade the packages on all containers');
  await settle(sessionId);
  expect(await waiting(sessionId)).toEqual(['the plan']);
  await bench.decide(sessionId, 'approve');
  const session = await settle(sessionId);
  expect(session).toMatchObject({
    outcome: 'success',
    goal: 'Packages on 4 containers are up to date',
  });
  expect(session.summary).toMatch(
    /^4 upgraded, nothing left[^]*- auth-outpost: .*ca-certificates[^]*- dns: .*unbound 1\.17\.1-2\+deb12u2[^]*- gitea: .*git 1:2\.39\.5[^]*- nfs-export: /,
  );
  const upgraded = (await commands(sessionId)).filter((line) =>
    line.endsWith('apt-get -y upgrade'),
  );
  expect(upgraded).toHaveLength(4);
  expect(upgraded.every((line) => line.startsWith('completed'))).toBe(true);
  expect(await bench.database.read.approval.count({ where: { sessionId } })).toBe(1);
  expect((await steps(sessionId)).every((line) => line.startsWith('done'))).toBe(true);
});

test('A3, A10: a deletion says what is lost, waits for the typed word, and checks the room that it made', async () => {
  const { sessionId } = await bench.open(
    'the backup disk on nas-1 is nearly full, delete the old backups',
  );
  await settle(sessionId);
  expect(await waiting(sessionId)).toEqual(['host:nas-1 rm -rf /srv/backup/2023-old']);
  const [approval] = await waitingApprovals(bench.database.read, { sessionId });
  expect(approval).toMatchObject({ risk: 'destructive', needsTyped: true });
  const plan = await bench.database.read.planStep.findFirstOrThrow({
    where: { sessionId, seq: 2 },
  });
  expect(plan.detail).toContain('Keep until the end of 2024, then delete.');
  await bench.decide(sessionId, 'approve');
  const session = await settle(sessionId);
  expect(session.outcome).toBe('success');
  expect(session.summary).toMatch(
    /^\/srv\/backup\/2023-old on nas-1 is deleted \(\d+G\)\. \/srv\/backup went from 9\d % to 6\d %, with \d+G free\./,
  );
});

test('a machine that does not answer is told, and the others are still looked at', async () => {
  await fleet.stop();
  const { sessionId } = await bench.open('how are the disks of web-1 and db-1?');
  const session = await settle(sessionId);
  expect(session.summary).toBe('No disk could be read.');
  expect(await answerOf(sessionId)).toMatch(/- web-1: not known, .*web-1/);
  fleet = await startDemoFleet({ home, pace: 0.01 });
});
