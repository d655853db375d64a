import type { Database, Unit } from '../db/database.ts';
import type { Pass } from '../db/rows.ts';
import { NomosError } from '../errors.ts';
import type { EventFeed } from '../events/subscribe.ts';
import { asId, type PassId, type SessionId, type TurnId } from '../ids.ts';
import { lockSession } from '../tasks/lock.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { Budgets } from './budget.ts';
import type { ChatModel } from './model/types.ts';
import type { SoulFile } from './soul.ts';

/** What a pass works with; made once for all passes of a process. */
export interface PassDeps {
  readonly database: Database;
  readonly feed: EventFeed;
  readonly model: ChatModel;
  readonly soul: SoulFile;
  /** Default: all tools of the agent. */
  readonly tools?: ToolRegistry;
  /** Whether the answer's text shows while it is being written (C13). Default true. */
  readonly streaming?: boolean;
  /** How much is sent to the model per request, in tokens of four characters. Default 48 000. */
  readonly contextTokens?: number;
  /** How many tokens may be used (L9). Default: as many as it takes. */
  readonly budgets?: Budgets;
  /** Waits before the second, third … try of a request that failed, in milliseconds. Default 1 s, then 5 s. */
  readonly retryDelaysMs?: readonly number[];
  /** Waits before the second and third pass of a continuation that fails (J5). Default 10 s, then 30 s. */
  readonly resumeDelaysMs?: readonly number[];
}

/** The pass is no longer this worker's: its lease ran out and it was taken up elsewhere, or it was ended. Stop at once. */
export class PassLost extends NomosError {
  constructor(passId: string) {
    super('pass_lost', 'system', `Pass ${passId} is no longer held by this worker.`, {
      fields: { passId },
    });
  }
}

/** The process is ending: the pass stopped between two steps and can be taken up from its rows by another worker (J7). */
export class PassHandedOver extends NomosError {
  constructor(passId: string) {
    super(
      'pass_handed_over',
      'system',
      `Pass ${passId} stopped for another worker to go on with.`,
      {
        fields: { passId },
      },
    );
  }
}

/** A running pass as its worker holds it: which rows it may write, and proof at each write that it still may. */
export class PassScope {
  readonly deps: PassDeps;
  readonly passId: PassId;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly cause: string;
  readonly #owner: string | null;
  readonly #attempt: number;

  private constructor(deps: PassDeps, pass: Pass) {
    this.deps = deps;
    this.passId = asId<PassId>(pass.id);
    this.sessionId = asId<SessionId>(pass.sessionId);
    this.turnId = asId<TurnId>(pass.turnId);
    this.cause = pass.cause;
    this.#owner = pass.leaseOwner;
    this.#attempt = pass.attempt;
  }

  /** The scope of a pass that the caller has claimed. Throws `PassLost` if it is not running. */
  static async open(deps: PassDeps, passId: PassId): Promise<PassScope> {
    const pass = await deps.database.read.pass.findUnique({ where: { id: passId } });
    if (pass?.state !== 'running') throw new PassLost(passId);
    return new PassScope(deps, pass);
  }

  /** What of the pass's row may change while it runs, as it is now. */
  async row(): Promise<Pick<Pass, 'stopRequestedAt' | 'modelCalls'>> {
    return this.deps.database.read.pass.findUniqueOrThrow({
      where: { id: this.passId },
      select: { stopRequestedAt: true, modelCalls: true },
    });
  }

  /**
   * A transaction of this pass: locks the task, then makes sure that the pass is still this worker's, so that a worker
   * that was taken for dead cannot write beside its successor. Throws `PassLost`.
   */
  async write<T>(work: (unit: Unit) => Promise<T>): Promise<T> {
    return this.deps.database.write(async (unit) => {
      await lockSession(unit, this.sessionId);
      const pass = await unit.db.pass.findUnique({
        where: { id: this.passId },
        select: { state: true, leaseOwner: true, attempt: true },
      });
      const mine =
        pass?.state === 'running' &&
        pass.leaseOwner === this.#owner &&
        pass.attempt === this.#attempt;
      if (!mine) throw new PassLost(this.passId);
      return work(unit);
    });
  }
}
