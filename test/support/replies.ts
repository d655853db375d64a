/** What the scripted model says in tests with people, and which requests belong to whose task. */
import { existsSync, readFileSync } from 'node:fs';
import type { Person } from './matrix.ts';
import type { AskedRequest } from './scripted-model.ts';

/** All words of a request. */
export const wordsOf = (request: AskedRequest | undefined): string =>
  (request?.messages ?? []).map(({ content }) => content ?? '').join('\n');

/** The conversation of one task: requests that have these words of the operator in them. */
export const about =
  (words: string) =>
  (request: AskedRequest): boolean =>
    request.messages.some(({ content }) => content?.includes(words) === true);

/** What the newest tool call gave back. */
export const lastTool = (request: AskedRequest): string =>
  request.messages.findLast(({ role }) => role === 'tool')?.content ?? '';

/** A command as one call among others. */
export const run = (command: string, purpose: string, target = 'host:web-1') => ({
  name: 'run',
  arguments: { target, command, purpose },
});

/** A reply that calls one tool. */
export const call = (name: string, given: Record<string, unknown>) => ({
  toolCalls: [{ name, arguments: given }],
});

/** A reply that runs one command. */
export const runs = (command: string, purpose: string, target?: string) => ({
  toolCalls: [run(command, purpose, target)],
});

/** A reply that names the task. */
export const goal = (text = 'Look around') => call('set_goal', { goal: text });

/** A reply that ends the task well. */
export const complete = (summary: string) => call('complete_task', { outcome: 'success', summary });

/** A reply that is held back until it is let go: the pass is in the middle meanwhile. */
export function gate<T>(reply: (request: AskedRequest) => T) {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: () => opened.resolve(),
    step: async (request: AskedRequest): Promise<T> => {
      reached.resolve();
      await opened.promise;
      return reply(request);
    },
  };
}

/** How many lines a file on the "host" has: how often a command that adds one ran there. */
export const linesIn = (file: string): number =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;

/** Waits until a person is in a room, by an invitation that their client accepts. */
export async function joined(person: Person, roomId: string): Promise<void> {
  await person.until(
    () => person.client.getRoom(roomId)?.getMyMembership() === 'join' || undefined,
    'the invitation is accepted',
  );
}

/** Has a person leave a room. */
export async function left(person: Person, roomId: string): Promise<void> {
  await person.request('POST', `/rooms/${encodeURIComponent(roomId)}/leave`, {});
  await person.until(
    () => person.client.getRoom(roomId)?.getMyMembership() === 'leave' || undefined,
    'the room was left',
  );
}
