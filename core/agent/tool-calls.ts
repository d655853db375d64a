import type { Unit } from '../db/database.ts';
import type { ToolCall } from '../db/rows.ts';
import { NomosError, errorText } from '../errors.ts';
import { faultPoint } from '../faults.ts';
import { asId, type ToolCallId } from '../ids.ts';
import { limits } from '../limits.ts';
import { log } from '../log.ts';
import { CALL_LOST } from '../tasks/lost-calls.ts';
import type { ReadyCall, ToolOutcome, ToolScope } from '../tools/tool.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { PassLost, type PassScope } from './scope.ts';
import { beginCall, endCall, type CallEnd } from './transcript.ts';

/** Reads of one answer that run side by side. */
const PARALLEL = 8;

/** Any call whose arguments are good. */
type AnyReady = ReadyCall<'read'> | ReadyCall<'task'> | ReadyCall<'change'>;

/** What a run through the calls of an answer needs to know. */
export interface CallRun {
  readonly scope: PassScope;
  readonly tools: ToolRegistry;
  /** Fires when the pass is stopped or handed over. */
  readonly signal: AbortSignal;
  /** Looked at before each call that is not a read. Words when no further call is to be made. */
  halted(): Promise<string | undefined>;
}

/** The calls of this pass that have no end yet, in order: of an answer just stored, or of a pass that was taken up. */
export async function openCalls(scope: PassScope): Promise<ToolCall[]> {
  return scope.deps.database.read.toolCall.findMany({
    where: { passId: scope.passId, state: { in: ['requested', 'running'] } },
    orderBy: { seq: 'asc' },
  });
}

/**
 * Makes calls: neighbours that only look side by side, the others one after another, in order (L7). Each is stored as it
 * begins and as it ends (L6). After a call that ends the pass the rest is not made.
 */
export async function makeCalls(run: CallRun, calls: readonly ToolCall[]): Promise<void> {
  for (const group of inGroups(run.tools, calls)) {
    const halt = await run.halted();
    if (halt !== undefined) {
      for (const one of group) {
        // Of a pass that died in the middle of a call and is taken up: what the call had begun is told as it stands.
        if (hasBegun(run.tools, one.call)) await makeCall(run, one);
        else await notMade(run, one.call, halt);
      }
      continue;
    }
    if (group.length === 1) await Promise.all(group.map((one) => makeCall(run, one)));
    else await inParallel(group, (one) => makeCall(run, one));
  }
}

/** Whether a call may have taken effect already. */
function hasBegun(tools: ToolRegistry, call: ToolCall): boolean {
  if (call.state !== 'running') return false;
  return call.executionId !== null || tools.find(call.name)?.resumable !== true;
}

interface Prepared {
  call: ToolCall;
  ready: AnyReady | undefined;
  problem: string | undefined;
}

/**
 * Marks the reads at the head of an answer as begun, in the transaction that stores it: they are made at once, and whoever takes the
 * pass up makes them again. Returns the calls as they are then.
 */
export async function beginReads(
  unit: Unit,
  scope: PassScope,
  tools: ToolRegistry,
  calls: readonly ToolCall[],
): Promise<ToolCall[]> {
  const begun = new Set<string>();
  for (const { call, ready } of inGroups(tools, calls)[0] ?? []) {
    if (ready?.kind !== 'read') continue;
    await beginCall(unit, scope, call, ready);
    begun.add(call.id);
  }
  return calls.map((call) => (begun.has(call.id) ? { ...call, state: 'running' } : call));
}

function inGroups(tools: ToolRegistry, calls: readonly ToolCall[]): Prepared[][] {
  const groups: Prepared[][] = [];
  let open = false;
  for (const call of calls) {
    const args =
      typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
    const prepared = tools.prepare(call.name, args);
    const one = prepared.ok
      ? { call, ready: prepared, problem: undefined }
      : { call, ready: undefined, problem: prepared.problem };
    const parallel = one.ready?.parallel ?? true;
    const last = groups.at(-1);
    if (parallel && open && last !== undefined) last.push(one);
    else groups.push([one]);
    open = parallel;
  }
  return groups;
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const workers = Array.from({ length: Math.min(PARALLEL, queue.length) }, async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  });
  // All of them end before an error of one goes up: none may write after the pass has moved on.
  const ends = await Promise.allSettled(workers);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

async function makeCall(run: CallRun, { call, ready, problem }: Prepared): Promise<void> {
  const { scope } = run;
  if (ready === undefined) {
    const value = { error: { code: 'bad_call', message: problem } };
    await scope.write((unit) => endCall(unit, scope, call, { state: 'failed', value }));
    return;
  }
  if (call.state === 'running' && run.tools.find(call.name)?.resumable !== true) {
    await scope.write((unit) => endCall(unit, scope, call, { state: 'unknown', value: CALL_LOST }));
    return;
  }
  if (call.state === 'requested') await scope.write((unit) => beginCall(unit, scope, call, ready));
  await faultPoint('agent.tool_started');
  const about: ToolScope = {
    sessionId: scope.sessionId,
    turnId: scope.turnId,
    passId: scope.passId,
    toolCallId: asId<ToolCallId>(call.id),
  };
  if (ready.kind === 'task') await makeTaskCall(scope, call, ready, about);
  else {
    const end =
      ready.kind === 'read'
        ? await endOfRead(scope, call, ready, about)
        : await endOfChange(run, call, ready, about);
    await faultPoint('agent.before_tool_result');
    await scope.write((unit) => endCall(unit, scope, call, { ...end, named: ready.entities }));
  }
  await faultPoint('agent.tool_ended');
}

// Effect and result in one transaction: both happened, or neither.
async function makeTaskCall(
  scope: PassScope,
  call: ToolCall,
  ready: ReadyCall<'task'>,
  about: ToolScope,
): Promise<void> {
  let refused: { error: unknown } | undefined;
  try {
    await scope.write(async (unit) => {
      refused = undefined;
      const outcome = await ready.run({ ...about, unit }).catch((error: unknown) => {
        refused = { error };
        throw error;
      });
      await endCall(unit, scope, call, { ...endOf(outcome), named: ready.entities });
    });
  } catch (error) {
    // What failed outside the tool's own work is no answer of the tool.
    if (refused === undefined || error instanceof PassLost) throw error;
    const end = { ...failureOf(error, call), named: ready.entities };
    await scope.write((unit) => endCall(unit, scope, call, end));
  }
}

async function endOfRead(
  scope: PassScope,
  call: ToolCall,
  ready: ReadyCall<'read'>,
  about: ToolScope,
): Promise<CallEnd> {
  try {
    return endOf(await ready.run({ ...about, db: scope.deps.database.read }));
  } catch (error) {
    return failureOf(error, call);
  }
}

async function endOfChange(
  run: CallRun,
  call: ToolCall,
  ready: ReadyCall<'change'>,
  about: ToolScope,
): Promise<CallEnd> {
  const { scope } = run;
  try {
    return endOf(
      await ready.run({
        ...about,
        database: scope.deps.database,
        feed: scope.deps.feed,
        write: (work) => scope.write(work),
        take: (work) => scope.write(work),
        inlineWaitMs: limits().inlineWaitMs,
        signal: run.signal,
      }),
    );
  } catch (error) {
    // Only a refusal says for certain that nothing was begun. After anything else the pass is taken up from its rows.
    if (!(error instanceof NomosError) || error.fault === 'system') throw error;
    return failureOf(error, call);
  }
}

function endOf(outcome: ToolOutcome): CallEnd {
  return { state: outcome.ok ? 'done' : 'failed', value: outcome.value, entity: outcome.entity };
}

// An expected error is told in full; any other is ours, and its words go to the log alone.
function failureOf(error: unknown, call: ToolCall): CallEnd {
  if (error instanceof NomosError) {
    const { code, message, hint } = error;
    return {
      state: 'failed',
      value: { error: { code, message, ...(hint === undefined ? {} : { hint }) } },
    };
  }
  log.error({ pass: call.passId, tool: call.name, error: errorText(error) }, 'a tool failed');
  const message = `${call.name} failed inside Nomos; the log has the reason. Try another way.`;
  return { state: 'failed', value: { error: { code: 'tool_failed', message } } };
}

async function notMade({ scope }: CallRun, call: ToolCall, why: string): Promise<void> {
  const value = { error: { code: 'not_made', message: `This call was not made: ${why}.` } };
  await scope.write((unit) => endCall(unit, scope, call, { state: 'failed', value }));
}
