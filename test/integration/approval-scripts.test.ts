import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { SshError } from '../../core/executions/ssh/errors.ts';
import { databaseHostKeys } from '../../core/executions/host-keys.ts';
import { parseInventory } from '../../core/graph/inventory-file.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { asId, type SessionId, type TurnId } from '../../core/ids.ts';
import { requestStop } from '../../core/tasks/stop.ts';
import { ANN, agentBench, benchOn, type AgentBench, type Target } from '../support/agent-bench.ts';
import { runnerFor } from '../support/remote.ts';
import { startScriptedModel, type AskedRequest, type Reply } from '../support/scripted-model.ts';
import { findSshd, TestSshd } from '../support/sshd.ts';

let bench: AgentBench;
afterEach(() => bench.close());

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A machine with one script, /opt/job.sh, that a test may change; it compares as the wrapper does. */
function machine(file: { text: string }): Target {
  return (command, { fixed = [] }) => {
    if (command.startsWith("test ! -f '/opt/job.sh'"))
      return { stdout: `${file.text.length}\n${sha256(file.text)}  -\n${file.text}` };
    if (command.startsWith('test ! -f ')) return {};
    const changed = fixed.find((one) => one.sha256 !== sha256(file.text));
    if (changed) throw new SshError('ssh_script_changed', `${changed.path} is not what it was.`);
    return { stdout: `ran: ${file.text}` };
  };
}

const run = (command: string): Reply => ({
  toolCalls: [
    { name: 'run', arguments: { target: 'host:web-1', command, purpose: 'the weekly job' } },
  ],
});
const told = (request: AskedRequest): string => JSON.stringify(request.messages);
const stored = () =>
  bench.database.read.execution.findMany({
    where: { command: { startsWith: 'bash' } },
    orderBy: { createdAt: 'asc' },
  });

test('A16: the content of a script is fixed when it is asked for; one that was changed does not start, and is asked for again', async () => {
  const file = { text: 'touch /srv/one\n' };
  bench = await agentBench(
    machine(file),
    run('bash /opt/job.sh'),
    { text: 'I asked for it.' },
    (request) => {
      expect(told(request)).toContain('is not what it was');
      return run('bash /opt/job.sh');
    },
    { text: 'I asked for it again.' },
    (request) => {
      expect(told(request)).toContain('ran: touch /srv/two');
      return { text: 'Done.' };
    },
  );
  const { sessionId } = await bench.open('run the job');
  await bench.pass(sessionId);
  const [first] = await stored();
  expect(first).toMatchObject({
    status: 'pending_approval',
    scripts: { version: 1, files: [{ path: '/opt/job.sh', sha256: sha256(file.text), why: null }] },
  });

  file.text = 'touch /srv/two\n';
  await bench.decide(sessionId, 'approve');
  await bench.until(async () => ((await stored())[0]?.status === 'failed' ? true : undefined));
  await bench.pass(sessionId);
  // The first approval opened the task's grant, which must not let the changed script through.
  const [failed, again] = await stored();
  expect(failed).toMatchObject({ errorCode: 'ssh_script_changed', stdout: '' });
  expect(again).toMatchObject({
    status: 'pending_approval',
    scripts: { files: [{ sha256: sha256('touch /srv/two\n') }] },
  });

  await bench.decide(sessionId, 'approve');
  await bench.until(async () => ((await stored())[1]?.status === 'completed' ? true : undefined));
  await bench.pass(sessionId);
  bench.model.verify();
});

test('P4, A16: a script that destroys makes its command destructive; one that is not there is told as not fixed', async () => {
  const file = { text: '#!/bin/bash\nrm -rf /srv/data\n' };
  bench = await agentBench(
    machine(file),
    run('bash /opt/job.sh'),
    { text: 'I asked.' },
    run('bash /opt/other.sh'),
    { text: 'I asked.' },
  );
  const { sessionId } = await bench.open('run the job');
  await bench.pass(sessionId);
  const other = await bench.open('run the other');
  await bench.pass(other.sessionId);
  const [one, two] = await stored();
  expect(one).toMatchObject({ risk: 'destructive', status: 'pending_approval' });
  expect(JSON.stringify(one?.reasons)).toContain('/opt/job.sh holds this');
  expect(two).toMatchObject({
    risk: 'config_mutation',
    scripts: { files: [{ sha256: null, why: 'there is no such file yet' }] },
  });
});

test.skipIf(findSshd() === undefined)(
  'A16: over a real SSH server the script behind an approved command was changed while it waited: the changed bytes do not run, the shown ones do',
  async () => {
    const server = await TestSshd.start();
    const { address, port, user } = server.endpoint;
    const model = await startScriptedModel(
      run('bash job.sh'),
      { text: 'I asked for it.' },
      run('bash job.sh'),
      { text: 'I asked for it again.' },
    );
    const open = await benchOn({
      inventory: parseInventory(
        `version: 1\nentities:\n  - { slug: 'host:web-1', type: host, attributes: { address: ${address}, ssh_port: ${port}, ssh_user: ${user} } }`,
        'fleet.yaml',
        loadOntology('seeds/ontology.yaml'),
      ),
      runner: (database) => runnerFor(server, { hostKeys: databaseHostKeys(database) }),
      modelUrl: model.baseUrl,
    });
    bench = { ...open, model, ran: [] };
    try {
      const file = path.join(server.home, 'job.sh');
      const ended = async (at: number) =>
        open.until(async () => {
          const row = (await stored())[at];
          return row?.endedAt === null ? undefined : row;
        });
      writeFileSync(file, 'echo shown >>ran\n');
      const { sessionId } = await open.open('run the job');
      await open.pass(sessionId);
      writeFileSync(file, 'echo changed >>ran\n');
      await open.decide(sessionId, 'approve');
      expect(await ended(0)).toMatchObject({
        status: 'failed',
        errorCode: 'ssh_script_changed',
        error: expect.stringContaining('job.sh on host:web-1 is not what it was') as string,
      });
      expect(existsSync(path.join(server.home, 'ran'))).toBe(false);

      await open.pass(sessionId);
      await open.decide(sessionId, 'approve');
      expect(await ended(1)).toMatchObject({ status: 'completed' });
      expect(readFileSync(path.join(server.home, 'ran'), 'utf8')).toBe('changed\n');
    } finally {
      await model.stop();
      await server.stop();
    }
  },
);

test('A16, T5: 🛑 while a script is read asks for nothing: no card is left with a content that is not fixed', async () => {
  const read = Promise.withResolvers<object>();
  bench = await agentBench(async () => {
    const { sessionId, turnId } = await bench.database.read.pass.findFirstOrThrow({
      where: { state: 'running' },
    });
    await bench.database.write((unit) =>
      requestStop(unit, {
        sessionId: asId<SessionId>(sessionId),
        turnId: asId<TurnId>(turnId),
        by: ANN,
      }),
    );
    return read.promise;
  }, run('bash /opt/job.sh'));
  const { sessionId } = await bench.open('run the job');
  expect(await bench.pass(sessionId)).toMatchObject({ state: 'cancelled' });
  read.resolve({});
  expect(await stored()).toEqual([]);
  expect(
    await bench.database.read.toolCall.findFirstOrThrow({ where: { sessionId } }),
  ).toMatchObject({
    state: 'failed',
    result: expect.stringContaining('look_interrupted'),
  });
});
