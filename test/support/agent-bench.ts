import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decide } from '../../core/approvals/decide.ts';
import { waitingApprovals } from '../../core/approvals/waiting.ts';
import { OpenAiChatModel } from '../../core/agent/model/client.ts';
import { runPass, type PassDeps } from '../../core/agent/pass.ts';
import { SoulFile } from '../../core/agent/soul.ts';
import { Database } from '../../core/db/database.ts';
import type { Pass } from '../../core/db/rows.ts';
import { EventFeed } from '../../core/events/subscribe.ts';
import type { Captured, RemoteRunner, RunEnd, RunRequest } from '../../core/executions/ports.ts';
import { runExecution } from '../../core/executions/run.ts';
import { SshError } from '../../core/executions/ssh/errors.ts';
import { parseInventory, type Inventory } from '../../core/graph/inventory-file.ts';
import { loadGraph } from '../../core/graph/load.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import {
  asId,
  type ApprovalId,
  type ExecutionId,
  type PassId,
  type SessionId,
  type TurnId,
  type UserId,
} from '../../core/ids.ts';
import { openTask } from '../../core/tasks/open.ts';
import { claimPass } from '../../core/tasks/passes.ts';
import { startScriptedModel, type ScriptedModel, type Step } from './scripted-model.ts';
import { freshDatabase } from './services.ts';

/** The operator of these tests. */
export const ANN = asId<UserId>('@ann:test');

/** What a stand-in target answers to a command: exit code and output, or a promise of them that the test keeps; an SshError is why it never starts. */
export type Target = (command: string, request: RunRequest) => Answer | Promise<Answer>;
interface Answer {
  exitCode?: number;
  stdout?: string;
  stderr?: string;
}

/** Lets a task look as if nothing had happened in it for an hour. */
export async function anHourAgo(
  { database }: Pick<AgentBench, 'database'>,
  id: SessionId,
): Promise<void> {
  await database.read
    .$executeRaw`UPDATE sessions SET last_activity_at = last_activity_at - interval '1 hour' WHERE id = ${id}::uuid`;
  await database.read
    .$executeRaw`UPDATE events SET at = at - interval '1 hour' WHERE session_id = ${id}::uuid`;
}

const FLEET = `version: 1
entities:
  - { slug: 'host:web-1', type: host, name: web-1, state: active, attributes: { address: 192.0.2.1, role: web } }
  - { slug: 'host:db-1', type: host, name: db-1, state: active, attributes: { address: 192.0.2.2 } }
  - { slug: 'lxc:dns', type: lxc, name: dns, state: active, attributes: { pve_id: 101, host: 'host:db-1' } }
  - { slug: 'lxc:wiki', type: lxc, name: wiki, state: stopped, attributes: { pve_id: 102, host: 'host:db-1' } }
  - { slug: 'service:nginx@web-1', type: service, name: nginx, attributes: { unit: nginx.service } }
relations:
  - ['service:nginx@web-1', runs_on, host:web-1]
`;

/** A task with an agent whose model is scripted and whose targets are stand-ins; the database is real. */
export interface AgentBench {
  readonly database: Database;
  readonly feed: EventFeed;
  readonly model: ScriptedModel;
  readonly deps: PassDeps;
  /** Every command that reached a target, in order. */
  readonly ran: Array<{ target: string; command: string }>;
  /** Opens a task with the operator's words. */
  open(text: string): Promise<{ sessionId: SessionId; turnId: TurnId }>;
  /** Claims the task's next pass; null when none is due. */
  claim(sessionId: SessionId, owner?: string): ReturnType<typeof claimPass>;
  /** Runs the task's next pass to its end and gives its row. Throws when none is due. */
  pass(sessionId: SessionId, deps?: Partial<PassDeps>): Promise<Pass>;
  /** The operator's word on the one approval that waits in the task. */
  decide(sessionId: SessionId, verdict: 'approve' | 'deny', reason?: string): Promise<void>;
  /** Waits until `check` holds, looking again after each event. */
  until<T>(check: () => Promise<T | undefined>): Promise<T>;
  /** The types of the task's events so far, in order. */
  events(sessionId: SessionId): Promise<string[]>;
  close(): Promise<void>;
}

/** Sets up a bench: a fresh database with a small fleet, a scripted model, and `target` in the place of every machine. */
export async function agentBench(target: Target, ...steps: Step[]): Promise<AgentBench> {
  const model = await startScriptedModel(...steps);
  const ran: AgentBench['ran'] = [];
  const ontology = loadOntology('seeds/ontology.yaml');
  const bench = await benchOn({
    inventory: parseInventory(FLEET, 'fleet.yaml', ontology),
    runner: () => standIn(target, ran),
    modelUrl: model.baseUrl,
  });
  return {
    ...bench,
    model,
    ran,
    async close() {
      await bench.close();
      await model.stop();
    },
  };
}

/** A bench on whatever fleet and model there are: all of it but the script and the record of commands. */
export type OpenBench = Omit<AgentBench, 'model' | 'ran'>;

/** Sets up a bench on a fleet and a model of the caller's, who ends both. */
export async function benchOn(parts: {
  inventory: Inventory;
  runner: (database: Database) => RemoteRunner;
  modelUrl: string;
}): Promise<OpenBench> {
  const database = await Database.connect(await freshDatabase());
  const feed = await EventFeed.open(database);
  await loadGraph(database, loadOntology('seeds/ontology.yaml'), parts.inventory);
  const folder = await mkdtemp(join(tmpdir(), 'nomos-soul-'));
  await writeFile(join(folder, 'SOUL.md'), 'You are a test persona.');
  const deps: PassDeps = {
    database,
    feed,
    model: new OpenAiChatModel({
      baseUrl: parts.modelUrl,
      models: ['scripted'],
      idleTimeoutMs: 20_000,
    }),
    soul: await SoulFile.open(join(folder, 'SOUL.md')),
    retryDelaysMs: [0],
  };
  const work = new Set<Promise<void>>();
  const shutdown = new AbortController();
  const runner = parts.runner(database);
  const unsubscribe = feed.subscribe((event) => {
    if (event.type !== 'execution.changed' || event.data['to'] !== 'queued') return;
    if (event.refId === null) return;
    const running = {
      database,
      feed,
      runner,
      mask: (text: string) => text,
      owner: 'worker',
      shutdown: shutdown.signal,
    };
    const done = runExecution(running, asId<ExecutionId>(event.refId));
    work.add(done);
    void done.finally(() => work.delete(done));
  });

  const bench: OpenBench = {
    database,
    feed,
    deps,
    open: (text) =>
      database.write((unit) => openTask(unit, { by: ANN, text, origin: { kind: 'lobby' } })),
    claim: (sessionId, owner = 'pass-worker') => claimPass(database, sessionId, owner),
    async pass(sessionId, more = {}) {
      const pass = await bench.claim(sessionId);
      if (pass === null) throw new Error('no pass is due');
      const id = asId<PassId>(pass.id);
      await runPass({ ...deps, ...more }, id, { signal: shutdown.signal });
      return database.read.pass.findUniqueOrThrow({ where: { id } });
    },
    async decide(sessionId, verdict, reason) {
      const [approval] = await waitingApprovals(database.read, { sessionId });
      if (approval === undefined) throw new Error('nothing waits for a decision');
      await database.write((unit) =>
        decide(unit, {
          approvalId: asId<ApprovalId>(approval.id),
          verdict,
          operator: { userId: ANN, role: 'admin' },
          means: approval.needsTyped ? 'confirmation' : 'tap',
          reason,
          typedConfirmation: approval.needsTyped,
        }),
      );
    },
    async until(check) {
      const value = await feed.waitFor(() => true, check, { timeoutMs: 60_000 });
      if (value === undefined) throw new Error('it did not come to that');
      return value;
    },
    async events(sessionId) {
      const rows = await database.read.event.findMany({
        where: { sessionId },
        orderBy: { id: 'asc' },
      });
      return rows.map((row) => row.type);
    },
    async close() {
      shutdown.abort();
      unsubscribe();
      await Promise.allSettled(work);
      await runner.close();
      await feed.close();
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
  return bench;
}

function standIn(target: Target, ran: AgentBench['ran']): RemoteRunner {
  const run = async (request: RunRequest): Promise<RunEnd> => {
    ran.push({
      target: (request.target.container ?? request.target.host).slug,
      command: request.command,
    });
    let answer: Answer;
    try {
      answer = await target(request.command, request);
    } catch (error) {
      if (!(error instanceof SshError)) throw error;
      return { kind: 'not_started', error };
    }
    const { exitCode = 0, stdout = '', stderr = '' } = answer;
    return {
      kind: 'exited',
      exitCode,
      stdout: captured(stdout),
      stderr: captured(stderr),
      durationMs: 5,
      shell: 'sh',
    };
  };
  return {
    run,
    reattach: run,
    cancel: async () => ({ kind: 'never_started' }),
    close: async () => {},
  };
}

function captured(text: string): Captured {
  const bytes = Buffer.from(text);
  return { bytes, totalBytes: bytes.length, droppedBytes: 0, gapAt: undefined };
}
