import type { Unit } from '../../db/database.ts';
import { NomosError, errorText } from '../../errors.ts';
import { newId, type ToolCallId } from '../../ids.ts';
import { limits } from '../../limits.ts';
import { log } from '../../log.ts';
import { lockSession } from '../../tasks/lock.ts';
import { safeJson } from '../../text/safe.ts';
import { agentTools } from '../../tools/index.ts';
import type { ReadyCall, Tool, ToolOutcome } from '../../tools/tool.ts';
import type { Actor } from '../actor.ts';
import type { ApiDeps } from '../app.ts';
import type { Scope, TokenRecord } from '../tokens.ts';
import { clientTask, findClientTask, noTask, type ClientTask } from './task.ts';

/** A client gives up after a minute by default; an answer comes before. What runs longer is looked at again. */
const LONGEST_WAIT_MS = 45_000;

/** Tools that belong to the agent's own way of working: its plan, its questions, its conversation. */
const OF_THE_AGENT = new Set([
  'set_goal',
  'propose_plan',
  'update_plan_step',
  'ask_operator',
  'read_attachment',
]);

/** Who calls: the token, and the operator in whose name it acts, once a call needs one. */
export interface Caller {
  readonly deps: ApiDeps;
  readonly token: TokenRecord;
  /** Throws `role_missing`. */
  actor(): Actor;
}

/** The tools that a token may call: those that look with read, all others with operate. Nothing here decides (A7). */
export function toolsFor(token: TokenRecord): Tool[] {
  return agentTools.forModel.flatMap(({ name }) => {
    const tool = agentTools.find(name);
    if (tool === undefined || OF_THE_AGENT.has(name)) return [];
    return token.scopes.includes(scopeOf(tool)) ? [tool] : [];
  });
}

function scopeOf(tool: Tool): Scope {
  return tool.kind === 'read' ? 'read' : 'operate';
}

/**
 * Makes a call (H6). One that does more than look belongs to the client's task and is on record there; `run` takes the way of
 * every command, through class, policy and approval. Failures are values, like those that the agent gets.
 */
export async function callTool(
  caller: Caller,
  name: string,
  args: unknown,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const tool = toolsFor(caller.token).find((one) => one.name === name);
  if (tool === undefined) return failed('unknown_tool', missing(caller.token, name));
  const ready = tool.prepare(args);
  if (!ready.ok) return failed('bad_call', ready.problem);
  try {
    if (ready.kind === 'read') return await look(caller, ready);
    return await act(caller, tool.name, ready, signal);
  } catch (error) {
    if (error instanceof NomosError && error.fault !== 'system') {
      return failed(error.code, error.message, error.hint);
    }
    log.error({ tool: name, error: caller.deps.mask(errorText(error)) }, 'an MCP call failed');
    return failed('tool_failed', `${name} failed inside Nomos; the log has the reason.`);
  }
}

async function look(caller: Caller, ready: ReadyCall<'read'>): Promise<ToolOutcome> {
  const { database } = caller.deps;
  const task = (await findClientTask(database.read, caller.token.id)) ?? noTask();
  return ready.run({ ...task, toolCallId: newId(), db: database.read });
}

async function act(
  caller: Caller,
  name: string,
  ready: ReadyCall<'task'> | ReadyCall<'change'>,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const { database, feed } = caller.deps;
  const task = await clientTask(database, caller.actor(), caller.token.id);
  const toolCallId = await begin(caller, task, name, ready);
  const write = <T>(work: (unit: Unit) => Promise<T>): Promise<T> =>
    database.write(async (unit) => {
      const session = await lockSession(unit, task.sessionId);
      if (session.endedAt === null) return work(unit);
      throw new NomosError(
        'task_ended',
        'operator',
        `Task ${session.shortId} has ended meanwhile.`,
        {
          hint: 'Call again: that begins a new one.',
        },
      );
    });
  const about = { ...task, toolCallId };
  let outcome: ToolOutcome | undefined;
  try {
    if (ready.kind === 'task') {
      outcome = await write((unit) => ready.run({ ...about, unit }));
    } else {
      const inlineWaitMs = Math.min(limits().inlineWaitMs, LONGEST_WAIT_MS);
      const take = <T>(work: (unit: Unit) => Promise<T>): Promise<T> => database.write(work);
      const context = { ...about, database, feed, write, take, inlineWaitMs, signal };
      outcome = await ready.run(context);
    }
    return outcome;
  } finally {
    await end(caller, task, toolCallId, outcome);
  }
}

async function begin(
  caller: Caller,
  task: ClientTask,
  name: string,
  ready: ReadyCall,
): Promise<ToolCallId> {
  const id = newId<ToolCallId>();
  await caller.deps.database.write(async (unit) => {
    await lockSession(unit, task.sessionId);
    unit.audit({
      actor: caller.actor().operator.userId,
      action: 'api.mcp.call',
      sessionId: task.sessionId,
      subject: id,
      data: { token: caller.token.name, tool: name },
    });
    await unit.db.session.update({
      where: { id: task.sessionId },
      data: { lastActivityAt: new Date() },
    });
    await unit.db.toolCall.create({
      data: {
        ...{ id, ...task, name, callId: id, state: 'running', startedAt: new Date() },
        arguments: safeJson(ready.input) ?? {},
        entitySlug: ready.entity ?? null,
      },
    });
  });
  return id;
}

async function end(
  caller: Caller,
  task: ClientTask,
  id: ToolCallId,
  outcome: ToolOutcome | undefined,
): Promise<void> {
  await caller.deps.database.write(async (unit) => {
    await lockSession(unit, task.sessionId);
    const { startedAt } = await unit.db.toolCall.findUniqueOrThrow({ where: { id } });
    const now = new Date();
    await unit.db.toolCall.update({
      where: { id },
      data: {
        state: outcome?.ok === true ? 'done' : 'failed',
        success: outcome?.ok === true,
        result: JSON.stringify(safeJson(outcome?.value ?? {})),
        endedAt: now,
        durationMs: Math.max(0, now.getTime() - (startedAt ?? now).getTime()),
        ...(outcome?.entity === undefined ? {} : { entitySlug: outcome.entity }),
      },
    });
  });
}

function failed(code: string, message: string, hint?: string): ToolOutcome {
  return {
    ok: false,
    value: { error: { code, message, ...(hint === undefined ? {} : { hint }) } },
  };
}

function missing(token: TokenRecord, name: string): string {
  const tool = agentTools.find(name);
  if (tool !== undefined && !OF_THE_AGENT.has(name)) {
    return `The token "${token.name}" may not ${scopeOf(tool)}, which ${name} takes.`;
  }
  return `There is no tool "${name}". There are: ${toolsFor(token)
    .map((one) => one.name)
    .join(', ')}.`;
}
