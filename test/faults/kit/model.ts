import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from './random.ts';

/** What a task of the workload does, one after another. */
export const STEP_KINDS = [
  'read',
  'reads',
  'change',
  'slow',
  'fail',
  'destroy',
  'ask',
  'fan',
  'canary',
  'preview',
] as const;
/**
 * What only some scripts do: a command that goes on until it is cancelled; words instead of a step, so that a task with a goal is
 * idle until it is nudged; and words however often it is nudged, so that it is closed (J4).
 */
const MORE_KINDS = ['endless', 'idle', 'stuck'] as const;
/** One of them. */
export type StepKind = (typeof STEP_KINDS)[number] | (typeof MORE_KINDS)[number];

/** What an operator asks for, in a form that the model of the kit understands. */
export interface TaskScript {
  /** Names the task in commands and logs: `t17`. */
  readonly token: string;
  readonly steps: readonly StepKind[];
  /** Whether it gives itself a goal and ends by complete_task, or ends in plain words. */
  readonly goal: boolean;
}

/** The operator's words for a script. */
export function scriptText(script: TaskScript): string {
  const words: string[] = [];
  // Short, so that it stands whole in a summary too: "read*22 change".
  for (const step of script.steps) {
    const [kind, times = '1'] = words.at(-1)?.split('*') ?? [];
    if (kind === step) words[words.length - 1] = `${step}*${Number(times) + 1}`;
    else words.push(step);
  }
  return `This is new work for you, ${script.token}: ${words.join(' ')}${script.goal ? ' with a goal' : ''}.`;
}

/** The script in an operator's words, if there is one. */
export function readScript(text: string): TaskScript | undefined {
  // In its own message, or quoted in the summary of those that are left out.
  const found =
    /This is new work for you, (t[0-9a-z]+): ([a-z0-9* ]+?)( with a goal)?\.["]?$/m.exec(text);
  if (found?.[1] === undefined || found[2] === undefined) return undefined;
  const steps = found[2].split(' ').flatMap((word) => {
    const [name, times = '1'] = word.split('*');
    const kind = [...STEP_KINDS, ...MORE_KINDS].find((one) => one === name);
    return kind === undefined ? [] : Array.from({ length: Number(times) }, () => kind);
  });
  return { token: found[1], steps, goal: found[3] !== undefined };
}

/** How commands of the workload look on the host that they run on. */
export interface CommandMaker {
  (kind: StepKind, token: string, step: number): string;
}

interface Asked {
  role: string;
  content: string | null;
  tool_calls?: Array<{ function: { name: string; arguments: string } }>;
}
interface Call {
  name: string;
  arguments: Record<string, unknown>;
}
interface Answer {
  text?: string;
  calls?: Call[];
}

/**
 * A model that works out what to do next from the conversation alone, as a real one does: whoever asks again after a crash
 * gets the same answer. Now and then it fails as endpoints do: an error, an empty answer, a stream cut in the middle.
 */
export class PlanningModel {
  /** How many of a hundred requests fail. */
  faultPercent = 0;
  requests = 0;
  readonly #command: CommandMaker;
  readonly #random: Random;
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  private constructor(command: CommandMaker, random: Random) {
    this.#command = command;
    this.#random = random;
  }

  static async start(command: CommandMaker, random: Random): Promise<PlanningModel> {
    const model = new PlanningModel(command, random);
    await new Promise<void>((resolve) => model.#server.listen(0, '127.0.0.1', resolve));
    return model;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.requests++;
    const { messages, stream } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      messages: Asked[];
      stream?: boolean;
    };
    const fault =
      this.#random.int(0, 99) < this.faultPercent
        ? this.#random.pick(['error', 'empty', 'cut'] as const)
        : undefined;
    if (fault === 'error') {
      response.writeHead(500, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"the endpoint failed"}}');
      return;
    }
    const answer = fault === 'empty' ? { text: '' } : nextStep(messages, this.#command);
    if (stream !== true) throw new Error('the workload streams');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (fault === 'cut') {
      await new Promise<void>((resolve) =>
        response.write(piece({ content: 'Half an ans' }), () => resolve()),
      );
      response.destroy();
      return;
    }
    if (answer.text !== undefined) response.write(piece({ content: answer.text }));
    const calls = (answer.calls ?? []).map((call, index) => ({
      index,
      id: `call_${index}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    }));
    if (calls.length > 0) response.write(piece({ tool_calls: calls }));
    response.write(piece({}, calls.length > 0 ? 'tool_calls' : 'stop'));
    response.write(
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [], usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 } })}\n\n`,
    );
    response.end('data: [DONE]\n\n');
  }
}

function piece(delta: Record<string, unknown>, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices })}\n\n`;
}

const WAITS = /Waiting for the operator|Still running|Allowed and about to start|have not ended/;

/** What the model says to a conversation. */
export function nextStep(messages: readonly Asked[], command: CommandMaker): Answer {
  const script = messages
    .map(({ role, content }) =>
      role === 'user' || role === 'system' ? readScript(content ?? '') : undefined,
    )
    .findLast((found) => found !== undefined);
  if (script === undefined) return { text: 'I do not know what to do.' };
  const last = messages.findLast(
    (message) => !(message.role === 'user' && (message.content ?? '').startsWith('<state')),
  );
  if (last?.role === 'tool' && WAITS.test(last.content ?? ''))
    return { text: `${script.token}: I wait.` };
  const done = stepsMade(messages, script.token);
  const step = done + 1;
  const kind = script.steps[done];
  if (kind === 'idle') return { text: `I think about ${script.token} step ${step}.` };
  if (kind === 'stuck') return { text: `I do not know how to go on with ${script.token}.` };
  if (kind !== undefined) {
    const calls = callsFor(kind, script, step, command);
    return {
      calls:
        step === 1 && script.goal
          ? [{ name: 'set_goal', arguments: { goal: `Do all of ${script.token}` } }, ...calls]
          : calls,
    };
  }
  if (!script.goal) return { text: `${script.token}: all done.` };
  return {
    calls: [
      { name: 'complete_task', arguments: { outcome: 'success', summary: `${script.token} done` } },
    ],
  };
}

/** The highest step of a task that the model has made by the conversation. */
function stepsMade(messages: readonly Asked[], token: string): number {
  let highest = 0;
  for (const message of messages) {
    const words = message.role === 'assistant' ? [message.content ?? ''] : [];
    for (const text of [
      ...words,
      ...(message.tool_calls ?? []).map((call) => call.function.arguments),
    ]) {
      const found = new RegExp(`\\b${token} step (\\d+)\\b`).exec(text);
      highest = Math.max(highest, Number(found?.[1] ?? 0));
    }
  }
  return highest;
}

function callsFor(
  kind: StepKind,
  { token }: TaskScript,
  step: number,
  command: CommandMaker,
): Call[] {
  const purpose = `${token} step ${step}`;
  const run = (more: Record<string, unknown> = {}): Call => ({
    name: 'run',
    arguments: { target: 'host:web-1', command: command(kind, token, step), purpose, ...more },
  });
  switch (kind) {
    case 'ask':
      return [
        {
          name: 'ask_operator',
          arguments: { prompt: `${purpose}: which one?`, options: ['this', 'that'] },
        },
      ];
    case 'reads':
      return [run(), run({ target: 'host:web-2' })];
    case 'fan':
      return [run({ target: ['host:web-1', 'host:web-2', 'host:web-3'] })];
    case 'preview':
      return [run({ preview: 'uname -r' })];
    case 'canary':
      return [run({ target: ['host:web-1', 'host:web-2', 'host:web-3'], canary: true })];
    default:
      return [run()];
  }
}
