import { isOver, type Job, type Run } from './job.ts';
import { make, say, type Reply, type WantedCall } from './wire.ts';

/** A command to run somewhere. */
export interface Command {
  readonly target: string;
  readonly command: string;
  readonly purpose: string;
}

/** Either what was wanted, or what to answer first to get it. */
export type Got<T> = { readonly got: T } | { readonly reply: Reply };

/**
 * Runs commands that only look, all in one answer, and gives their runs in the order asked. `after`: a run from before
 * that step does not count. `also` goes along with the first answer.
 */
export function look(
  job: Job,
  commands: readonly Command[],
  options: { after?: number; also?: readonly WantedCall[] } = {},
): Got<Run[]> {
  const runs = commands.map((one) => job.run(one.target, one.command, options.after));
  const missing = commands.filter((_one, index) => runs[index] === undefined);
  if (missing.length > 0) return { reply: make(...(options.also ?? []), ...missing.map(runCall)) };
  const known = runs.filter((run) => run !== undefined);
  const open = known.filter((run) => !isOver(run));
  if (open.some((run) => run.status === 'pending_approval')) return { reply: waitingFor(open) };
  if (open.length > 0) {
    return { reply: say(`Still looking on ${names(open)}. I go on when that has ended.`) };
  }
  const shortened = known.filter((run) => run.shortened);
  if (shortened.length > 0) {
    return {
      reply: make(
        ...shortened.map((run) => ({
          name: 'get_execution_status',
          args: { execution_id: run.id },
        })),
      ),
    };
  }
  return { got: known };
}

/** Runs a command that changes something, once. Asks for it, waits for the decision and the end, and gives its run. */
export function change(job: Job, command: Command, also: readonly WantedCall[] = []): Got<Run> {
  const run = job.run(command.target, command.command);
  if (run === undefined) return { reply: make(...also, runCall(command)) };
  if (run.status === 'pending_approval') return { reply: waitingFor([run]) };
  if (!isOver(run)) {
    return {
      reply: say(
        `\`${run.command}\` is running on ${nameOf(run.target)}. I go on when it has ended.`,
      ),
    };
  }
  return { got: run };
}

/** Ends the task. */
export function complete(
  outcome: 'success' | 'partial' | 'failure',
  ...lines: ReadonlyArray<string | undefined>
): Reply {
  return completeNoting([], outcome, ...lines);
}

/** Writes facts back to the fleet graph, then ends the task. */
export function completeNoting(
  facts: readonly WantedCall[],
  outcome: 'success' | 'partial' | 'failure',
  ...lines: ReadonlyArray<string | undefined>
): Reply {
  const summary = lines.filter((line) => line !== undefined).join('\n');
  return {
    text: summary,
    calls: [...facts, { name: 'complete_task', args: { outcome, summary } }],
  };
}

/** Writes one fact about an entity down. */
export function fact(slug: string, key: string, value: string): WantedCall {
  const name = key.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
  return { name: 'update_entity_attributes', args: { slug, attributes: { [name]: value } } };
}

/** Looks whether something was written down before; nothing where there is no knowledge to be asked. */
export function recall(job: Job, query: string): WantedCall[] {
  return job.conversation.tools.has('search_knowledge')
    ? [{ name: 'search_knowledge', args: { query, limit: 1 } }]
    : [];
}

/** That it was met before, with what became of it then; undefined if no note has all of the words. */
export function recalled(job: Job): string | undefined {
  const { result } = job.calls('search_knowledge')[0] ?? {};
  const notes: unknown = result?.['notes'];
  if (!Array.isArray(notes) || 'note' in (result ?? {})) return undefined;
  const [note] = notes as Array<Record<string, unknown>>;
  if (note === undefined) return undefined;
  return `I met this before: task ${String(note['task'])}, ${String(note['written'])}, ended in ${String(note['outcome'])}.`;
}

/** Writes a note for later tasks. */
export function writeDown(
  job: Job,
  note: { title: string; content: string; about: readonly string[] },
): WantedCall[] {
  return job.conversation.tools.has('upsert_knowledge')
    ? [{ name: 'upsert_knowledge', args: note }]
    : [];
}

/** What the last step of a plan also does. */
export const WRITE_BACK = 'and note it: update_entity_attributes';

/** Names the task. */
export function goal(text: string): WantedCall {
  return { name: 'set_goal', args: { goal: text } };
}

/** Shows a plan whose one change asks by itself. */
export function plan(...steps: ReadonlyArray<{ title: string; detail?: string }>): WantedCall {
  return { name: 'propose_plan', args: { steps, ask_approval: false } };
}

/** Puts a plan of several changes before the operator, to be decided on as a whole. */
export function planToApprove(
  ...steps: ReadonlyArray<{ title: string; detail?: string }>
): WantedCall {
  return { name: 'propose_plan', args: { steps } };
}

/** Moves a step of the plan on, unless it stands there already. */
export function step(
  job: Job,
  number: number,
  status: 'running' | 'done' | 'failed' | 'skipped',
  note?: string,
): WantedCall[] {
  const asked = job
    .calls('update_plan_step')
    .some((call) => call.args['step'] === number && call.args['status'] === status);
  return asked
    ? []
    : [
        {
          name: 'update_plan_step',
          args: { step: number, status, ...(note === undefined ? {} : { note }) },
        },
      ];
}

/** What to say when the operator refused a command, or nobody decided on it: what did not happen, and what is so now. */
export function refusal(job: Job, stillTrue: string): Reply | undefined {
  const run = job.refused;
  if (job.planRefused)
    return complete('partial', 'The plan was not approved, so I did none of it.', stillTrue);
  if (run === undefined) return undefined;
  const why: Record<string, string> = {
    denied: 'You said no',
    expired: 'Nobody decided in time',
    cancelled: 'It was cancelled',
    revoked: 'It was revoked before it started',
  };
  return complete(
    'partial',
    `${why[run.status] ?? 'It did not run'}: \`${run.command}\` on ${nameOf(run.target)} ${run.exitCode === undefined && run.stdout === '' ? 'did not run' : 'was not finished'}. I stopped there.`,
    stillTrue,
  );
}

/** The part of a slug that people say. */
export function nameOf(slug: string): string {
  return slug.slice(slug.indexOf(':') + 1);
}

function waitingFor(runs: readonly Run[]): Reply {
  const lines = runs.map((run) => `- \`${run.command}\` on ${nameOf(run.target)}`);
  return say('I proposed this and wait for your decision; the card says what it takes:', ...lines);
}

function runCall({ target, command, purpose }: Command): WantedCall {
  return { name: 'run', args: { target, command, purpose } };
}

function names(runs: readonly Run[]): string {
  return [...new Set(runs.map((run) => nameOf(run.target)))].join(', ');
}
