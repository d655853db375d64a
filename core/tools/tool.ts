import { z } from 'zod';
import type { JsonSchema } from '../agent/model/types.ts';
import type { Database, Reader, Unit } from '../db/database.ts';
import type { EventFeed } from '../events/subscribe.ts';
import type { PassId, SessionId, ToolCallId, TurnId } from '../ids.ts';
import { explainIssues } from './issues.ts';
import { mend } from './mend.ts';

/**
 * How a tool touches the world. `read`: looks only, may be made again and run beside others. `task`: writes rows of the
 * task, in one transaction with its own result, so it happens exactly once. `change`: reaches targets.
 */
export type ToolKind = 'read' | 'task' | 'change';

/** Which call this is. */
export interface ToolScope {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly passId: PassId;
  readonly toolCallId: ToolCallId;
}

/** What a `read` tool gets. */
export interface ReadContext extends ToolScope {
  readonly db: Reader;
}

/** What a `task` tool gets: the unit in which its result is stored too. The task's row is locked. */
export interface TaskContext extends ToolScope {
  readonly unit: Unit;
}

/** What a `change` tool gets. */
export interface ChangeContext extends ToolScope {
  readonly database: Database;
  readonly feed: EventFeed;
  /** A transaction of this pass: it holds the task's lock, and fails if the pass is no longer this worker's. */
  write<T>(work: (unit: Unit) => Promise<T>): Promise<T>;
  /** Likewise, for taking the end of an execution that only this call will tell. */
  take<T>(work: (unit: Unit) => Promise<T>): Promise<T>;
  /** How long the call may wait for what it started, in milliseconds. */
  readonly inlineWaitMs: number;
  /** Ends the waiting: the pass was stopped, or this process is ending. */
  readonly signal: AbortSignal;
}

interface Contexts {
  read: ReadContext;
  task: TaskContext;
  change: ChangeContext;
}

/** What a call came to. */
export interface ToolOutcome {
  /** Whether it did what was asked. A command that ran and failed is a call that did not. */
  readonly ok: boolean;
  /** What the model gets, as JSON. */
  readonly value: Readonly<Record<string, unknown>>;
  /** The slug of the entity that it was about, once that is known for certain. */
  readonly entity?: string;
}

/** A call whose arguments are good. */
export interface ReadyCall<K extends ToolKind = ToolKind> {
  readonly ok: true;
  readonly kind: K;
  /** The arguments after mending, as they are stored. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The entity that the call is about, as the model named it. */
  readonly entity: string | undefined;
  /** All entities that the model named in it (K9). */
  readonly entities: readonly string[];
  /** Whether it only looks, so that it may run beside others (L7). */
  readonly parallel: boolean;
  run(context: Contexts[K]): Promise<ToolOutcome>;
}

/** A call whose arguments are not good: what is wrong, by field, and what is allowed. */
export interface BadCall {
  readonly ok: false;
  readonly problem: string;
}

/** A tool, ready to be offered and called. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly kind: ToolKind;
  readonly parameters: JsonSchema;
  readonly endsPass: boolean;
  readonly resumable: boolean;
  prepare(args: unknown): BadCall | ReadyCall<'read'> | ReadyCall<'task'> | ReadyCall<'change'>;
}

/** How a tool is stated. `S` is a strict zod object. */
export interface ToolDefinition<K extends ToolKind, S extends z.ZodObject> {
  readonly name: string;
  /** For the model: what it does, when to take it, what comes back. */
  readonly description: string;
  readonly kind: K;
  readonly input: S;
  /** Whether a call that did what was asked ends the pass: a question waits for its answer, or the task is over. */
  readonly endsPass?: boolean;
  /**
   * For `change`: whether the handler finds by itself what an earlier start of this very call began. Without it, a call
   * that was under way when its process died becomes `unknown` and is not made again.
   */
  readonly resumable?: boolean;
  /** Which entity a call is about. */
  entity?(input: z.output<S>): string | undefined;
  /** Every entity that a call names, where that is more than the one above (K9). */
  entities?(input: z.output<S>): readonly string[];
  /** For `change`: whether this very call only looks. */
  looksOnly?(input: z.output<S>): boolean;
  handler(context: Contexts[K], input: z.output<S>): Promise<ToolOutcome>;
}

/** Makes a tool from its statement. The schema that the model sees is made from the one that checks. */
export function defineTool<K extends ToolKind, S extends z.ZodObject>(
  definition: ToolDefinition<K, S>,
): Tool {
  const { $schema: _dialect, ...parameters } = z.toJSONSchema(definition.input, { io: 'input' });
  return {
    name: definition.name,
    description: definition.description,
    kind: definition.kind,
    parameters,
    endsPass: definition.endsPass ?? false,
    resumable: definition.kind !== 'change' || definition.resumable === true,
    prepare(args) {
      const mended = mend(args ?? {}, parameters);
      const parsed = definition.input.safeParse(mended);
      if (!parsed.success)
        return { ok: false, problem: explainIssues(parsed.error, mended, parameters) };
      const input = parsed.data;
      const entity = definition.entity?.(input);
      const ready: ReadyCall<K> = {
        ok: true,
        kind: definition.kind,
        input,
        entity,
        entities: definition.entities?.(input) ?? (entity === undefined ? [] : [entity]),
        parallel: definition.kind === 'read' || definition.looksOnly?.(input) === true,
        run: (context) => definition.handler(context, input),
      };
      return ready as ReadyCall<'read'> | ReadyCall<'task'> | ReadyCall<'change'>;
    },
  };
}
