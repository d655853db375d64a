import {
  parseRecord,
  type Conversation,
  type Machine,
  type PastCall,
  type Step,
} from './conversation.ts';

/** A command that was run for this job, with the newest that is known about it. */
export interface Run {
  readonly id: string;
  readonly target: string;
  readonly command: string;
  readonly status: string;
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Why it could not be run or brought to its end. */
  readonly error: string | undefined;
  /** Its output was left out to save room; get_execution_status reads it again. */
  readonly shortened: boolean;
  /** Where in the conversation it was asked for, and where its end was told. */
  readonly askedAt: number;
  readonly endedAt: number;
}

const OVER = new Set([
  'completed',
  'failed',
  'denied',
  'revoked',
  'expired',
  'cancelled',
  'unknown',
]);
const REFUSED = new Set(['denied', 'revoked', 'expired', 'cancelled']);

const ENDED = /^Execution (\w+) on \S+ \([\s\S]*?\) ended: (\w+)\./;
const DECIDED: ReadonlyArray<readonly [RegExp, string]> = [
  [/^The operator DENIED: (.*)/, 'denied'],
  [/^The approval EXPIRED without a decision: (.*)/, 'expired'],
  [/^The operator WITHDREW the approval before it started: (.*)/, 'cancelled'],
];
const REVOKED = /^Execution (\w+) on .* was REVOKED/;
const PLAN_REFUSED =
  /^The operator (?:DENIED|WITHDREW the approval of) the plan |^The approval of the plan \w+ EXPIRED/;
const ANSWER = /^The operator answered your question "[\s\S]*?": ([\s\S]*)$/;

/** What an operator asked for, and everything that has happened for it since. */
export class Job {
  readonly conversation: Conversation;
  /** The operator's words, as they were written. */
  readonly words: string;
  readonly #steps: readonly Step[];
  readonly #runs: readonly Run[];

  constructor(conversation: Conversation, from: number) {
    this.conversation = conversation;
    this.#steps = conversation.steps.slice(from);
    const first = this.#steps[0];
    this.words = first?.text ?? '';
    this.#runs = readRuns(this.#steps);
  }

  /** Whether the words hold one of these, whatever the case. */
  says(pattern: RegExp): boolean {
    return pattern.test(this.words.toLowerCase());
  }

  /** Calls of a tool since the operator asked, in order. */
  calls(name: string): PastCall[] {
    return this.#steps
      .flatMap((step) => (step.kind === 'answer' ? step.calls : []))
      .filter((call) => call.name === name);
  }

  /**
   * The first run of this command on this target that was asked for after step `after`: what was seen before a change
   * stays what was seen, whatever was looked at again since.
   */
  run(target: string, command: string, after = -1): Run | undefined {
    return this.#runs.find(
      (run) => run.target === target && run.command === command && run.askedAt > after,
    );
  }

  /** All runs, in order. */
  get runs(): readonly Run[] {
    return this.#runs;
  }

  /** The newest run that an operator refused, or that nobody decided on in time. */
  get refused(): Run | undefined {
    return this.#runs.findLast((run) => REFUSED.has(run.status));
  }

  /** Whether the plan waits for the operator's decision. */
  get planWaits(): boolean {
    return this.conversation.waiting.some((line) => line.startsWith('the plan '));
  }

  /** Whether the operator refused the plan, or nobody decided on it in time. */
  get planRefused(): boolean {
    return this.#steps.some((step) => step.kind === 'note' && PLAN_REFUSED.test(step.text));
  }

  /** The operator's answer to the question of this job. */
  get answer(): string | undefined {
    const note = this.#steps.findLast((step) => step.kind === 'note' && ANSWER.test(step.text));
    return note === undefined ? undefined : ANSWER.exec(note.text)?.[1]?.trim();
  }

  /** Machines that the words name, by slug or name; none if they name none. */
  get named(): Machine[] {
    const words = new Set(
      this.words.toLowerCase().match(/[a-z0-9][a-z0-9:._-]*[a-z0-9]|[a-z0-9]/g) ?? [],
    );
    return this.conversation.machines.filter(
      (machine) => words.has(machine.name) || words.has(machine.slug),
    );
  }

  /** Active machines of these types. */
  active(...types: readonly string[]): Machine[] {
    return this.conversation.machines.filter(
      (machine) => machine.state === 'active' && types.includes(machine.type),
    );
  }
}

/** Whether nothing more will come of a run. */
export function isOver(run: Run): boolean {
  return OVER.has(run.status);
}

/** The output of a run, both streams, or why there is none. */
export function outputOf(run: Run): string {
  return [run.stdout, run.stderr, run.error ?? '']
    .filter((part) => part !== '')
    .join('\n')
    .trim();
}

type Draft = { -readonly [K in keyof Run]: Run[K] };

function readRuns(steps: readonly Step[]): Run[] {
  const runs: Draft[] = [];
  const update = (id: string, at: number, result: Readonly<Record<string, unknown>>): void => {
    // The same command may have been asked for twice and answered with the one that waits.
    for (const run of runs.filter((one) => one.id === id)) take(run, result, at);
  };
  steps.forEach((step, at) => {
    if (step.kind === 'note') {
      for (const { id, result } of toldBy(step.text)) update(id, at, result);
    } else if (step.kind === 'answer') {
      for (const call of step.calls) {
        if (call.name === 'run') runs.push(newRun(call, at, runs.length));
        else if (call.name === 'get_execution_status')
          update(text(call.result['execution_id']) ?? '', at, call.result);
      }
    }
  });
  return runs;
}

function newRun(call: PastCall, at: number, index: number): Draft {
  const run: Draft = {
    id: text(call.result['execution_id']) ?? `none-${index}`,
    target: text(call.args['target']) ?? '',
    command: text(call.args['command']) ?? '',
    // A call that Nomos refused never became an execution.
    status: 'failed',
    exitCode: undefined,
    stdout: '',
    stderr: '',
    error: undefined,
    shortened: false,
    askedAt: at,
    endedAt: at,
  };
  take(run, call.result, at);
  return run;
}

function take(run: Draft, result: Readonly<Record<string, unknown>>, at: number): void {
  if (typeof result['status'] === 'string') run.status = result['status'];
  if (typeof result['exit_code'] === 'number') run.exitCode = result['exit_code'];
  const problem = result['error'];
  if (typeof problem === 'string') run.error = problem;
  else if (typeof problem === 'object' && problem !== null && 'message' in problem)
    run.error = String(problem.message);
  run.shortened = 'shortened' in result;
  if (!run.shortened) {
    run.stdout = text(result['stdout']) ?? run.stdout;
    run.stderr = text(result['stderr']) ?? run.stderr;
  }
  if (OVER.has(run.status)) run.endedAt = Math.max(run.endedAt, at);
}

/** What a note tells of executions: the end of one, with its result, or a decision over one or several. */
function toldBy(note: string): Array<{ id: string; result: Record<string, unknown> }> {
  const ended = ENDED.exec(note);
  if (ended !== null) {
    const [, id = '', status = ''] = ended;
    const json = note.split('\n').findLast((line) => line.startsWith('{'));
    return [{ id, result: json === undefined ? { status, shortened: true } : parseRecord(json) }];
  }
  const revoked = REVOKED.exec(note)?.[1];
  if (revoked !== undefined) return [{ id: revoked, result: { status: 'revoked' } }];
  for (const [pattern, status] of DECIDED) {
    const list = pattern.exec(note)?.[1];
    if (list === undefined) continue;
    return list
      .split('; ')
      .map((item) => ({ id: /^(\w+) on /.exec(item)?.[1] ?? '', result: { status } }));
  }
  return [];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
