import { z } from 'zod';
import type { ChatRequest } from './wire.ts';

/** A call that was made earlier, and what came of it. */
export interface PastCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The result as JSON; empty while there is none, or if it is not an object. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** A step of a conversation with Nomos. */
export type Step =
  | { readonly kind: 'operator' | 'note'; readonly text: string }
  | { readonly kind: 'answer'; readonly text: string; readonly calls: readonly PastCall[] };

/** A machine as the state at the end of each request lists it. */
export interface Machine {
  readonly slug: string;
  readonly name: string;
  readonly type: string;
  readonly state: string;
}

/** What a request says, taken apart. */
export interface Conversation {
  readonly steps: readonly Step[];
  readonly machines: readonly Machine[];
  /** Lines of the state about commands that wait for the operator. */
  readonly waiting: readonly string[];
  readonly tools: ReadonlySet<string>;
}

const record = z.record(z.string(), z.unknown());
const NOTE = /^<note from="nomos">\n([\s\S]*)\n<\/note>$/;
const STATE = /^<state from="nomos">\n([\s\S]*)\n<\/state>$/;
const MACHINE = /^ {2}((host|vm|lxc):(\S+)): (\w+)/gm;
const WAITING = /^Waiting for the operator: (.*)$/gm;

/** Reads a request: who said what, which calls were made and what they gave, and the state as Nomos tells it. */
export function readConversation(request: ChatRequest): Conversation {
  const results = new Map(
    request.messages.flatMap((message) =>
      message.tool_call_id === undefined ? [] : [[message.tool_call_id, message.content ?? '']],
    ),
  );
  const steps: Step[] = [];
  let state = '';
  for (const message of request.messages) {
    const content = message.content ?? '';
    if (message.role === 'user') {
      const told = STATE.exec(content)?.[1];
      const noted = NOTE.exec(content)?.[1];
      if (told !== undefined) state = told;
      else if (noted !== undefined) steps.push({ kind: 'note', text: noted });
      // What is in a file is no request.
      else if (!content.startsWith('<attachment ')) steps.push({ kind: 'operator', text: content });
    } else if (message.role === 'assistant') {
      const calls = (message.tool_calls ?? []).map((call) => ({
        name: call.function.name,
        args: parseRecord(call.function.arguments),
        result: parseRecord(results.get(call.id) ?? ''),
      }));
      steps.push({ kind: 'answer', text: content, calls });
    }
  }
  return {
    steps,
    machines: [...state.matchAll(MACHINE)].map(
      ([, slug = '', type = '', name = '', word = '']) => ({
        slug,
        type,
        name,
        state: word,
      }),
    ),
    waiting: [...state.matchAll(WAITING)].map(([, line = '']) => line),
    tools: new Set((request.tools ?? []).map((tool) => tool.function.name)),
  };
}

/** A JSON object, or an empty one for anything else. */
export function parseRecord(text: string): Record<string, unknown> {
  try {
    const parsed = record.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : {};
  } catch {
    // Results may be cut or plain words: there is nothing in them to go by.
    return {};
  }
}
