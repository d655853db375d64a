import { Database } from '../../core/db/database.ts';
import { EventFeed } from '../../core/events/subscribe.ts';
import { loadGraph } from '../../core/graph/load.ts';
import { parseInventory } from '../../core/graph/inventory-file.ts';
import { loadOntology } from '../../core/graph/ontology-file.ts';
import { requestExecution, type RequestOutcome } from '../../core/executions/request.ts';
import { asId, type SessionId, type TurnId, type UserId } from '../../core/ids.ts';
import type { Operator } from '../../core/operators.ts';
import { openTask } from '../../core/tasks/open.ts';
import { freshDatabase } from './services.ts';

const FLEET = `
version: 1
entities:
  - { slug: 'host:a', type: host, attributes: { address: 192.0.2.1 } }
  - { slug: 'host:b', type: host, attributes: { address: 192.0.2.2, tags: [core] } }
  - { slug: 'host:old', type: host, state: destroyed, attributes: { address: 192.0.2.3 } }
  - { slug: 'lxc:c', type: lxc, attributes: { pve_id: 101, host: 'host:a' } }
  - { slug: 'service:web@a', type: service }
relations:
  - ['service:web@a', runs_on, 'host:a']
`;

const operator = (name: string, role: Operator['role']): Operator => ({
  userId: asId<UserId>(`@${name}:test`),
  role,
});

/** Operators that tests decide as. */
export const ann = operator('ann', 'admin');
export const bob = operator('bob', 'approver');
export const eve = operator('eve', 'viewer');

/** A task of the test with its first turn. */
export interface TestTask {
  sessionId: SessionId;
  turnId: TurnId;
}

/** A database of one's own with a small fleet; nothing of it is ever connected to. */
export class CoreWorld implements AsyncDisposable {
  database: Database;
  readonly #url: string;
  #feed: EventFeed | undefined;

  private constructor(url: string, database: Database) {
    this.#url = url;
    this.database = database;
  }

  /** `url`: a migrated database of the caller's. Default a fresh one. */
  static async open(given?: string): Promise<CoreWorld> {
    const url = given ?? (await freshDatabase());
    const database = await Database.connect(url, { connections: 8 });
    const ontology = loadOntology('seeds/ontology.yaml');
    await loadGraph(database, ontology, parseInventory(FLEET, 'fleet.yaml', ontology));
    return new CoreWorld(url, database);
  }

  /** The process ends and another one starts: nothing is kept but what the database has. */
  async restart(): Promise<void> {
    await this.#feed?.close();
    this.#feed = undefined;
    await this.database.close();
    this.database = await Database.connect(this.#url, { connections: 8 });
  }

  async feed(): Promise<EventFeed> {
    return (this.#feed ??= await EventFeed.open(this.database));
  }

  async task(text = 'do it'): Promise<TestTask> {
    return this.database.write((unit) =>
      openTask(unit, { by: ann.userId, text, origin: { kind: 'lobby' } }),
    );
  }

  async request(task: TestTask, target: string, command: string): Promise<RequestOutcome> {
    return this.database.write((unit) =>
      requestExecution(unit, {
        ...task,
        passId: null,
        toolCallId: null,
        target,
        command,
        purpose: 'a test',
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#feed?.close();
    await this.database.close();
  }
}
