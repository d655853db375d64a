import { z } from 'zod';
import type { SeenEvent } from './operator.ts';

const messageShape = z.looseObject({
  body: z.string(),
  'm.new_content': z.looseObject({ body: z.string() }).optional(),
});
const reactionShape = z.looseObject({
  'm.relates_to': z.looseObject({ key: z.string(), event_id: z.string() }),
});
const nameShape = z.looseObject({ name: z.string() });
const tagsShape = z.looseObject({ 'org.nomos': z.looseObject({ kind: z.string() }) });

/** Cards that only follow what others say: left out, so that the conversation can be read. */
const BACKGROUND = new Set(['progress', 'task']);

/** Prints a conversation as it happens: who says what in which room, taps, and the last words of edited messages. */
export class Transcript {
  readonly #bot: string;
  readonly #write: (text: string) => void;
  readonly #names = new Map<string, string>();
  readonly #said = new Map<string, string>();
  #room = '';

  constructor(botUserId: string, write: (text: string) => void) {
    this.#bot = botUserId;
    this.#write = write;
  }

  /** Takes in an event; prints it if a person would read it. */
  add(event: SeenEvent): void {
    if (event.type === 'm.room.name') {
      const named = nameShape.safeParse(event.content);
      if (named.success) this.#rename(event.roomId, named.data.name);
    } else if (event.type === 'm.room.message') {
      this.#message(event);
    } else if (event.type === 'm.reaction' && event.sender !== this.#bot) {
      const reaction = reactionShape.safeParse(event.content);
      if (reaction.success) this.#line(event, `taps ${reaction.data['m.relates_to'].key}`);
    }
  }

  #rename(roomId: string, name: string): void {
    const before = this.#names.get(roomId);
    this.#names.set(roomId, name);
    if (before !== undefined && before !== name)
      this.#write(`\n   (the room is now called "${name}")\n`);
  }

  #message(event: SeenEvent): void {
    const message = messageShape.safeParse(event.content);
    if (!message.success) return;
    const tags = tagsShape.safeParse(event.content);
    if (tags.success && BACKGROUND.has(tags.data['org.nomos'].kind)) return;
    const edited = message.data['m.new_content'];
    const body = (edited ?? message.data).body.trim();
    const first = body.split('\n')[0] ?? '';
    if (edited === undefined) {
      this.#line(event, body);
    } else if (this.#said.get(event.roomId) !== first) {
      this.#line(event, `(edited) ${first}`);
    }
    this.#said.set(event.roomId, first);
  }

  #line(event: SeenEvent, text: string): void {
    if (event.roomId !== this.#room) {
      this.#room = event.roomId;
      this.#write(`\n── ${this.#names.get(event.roomId) ?? event.roomId} ──\n`);
    }
    const who = event.sender === this.#bot ? 'Nomos' : 'You';
    this.#write(`${who.padEnd(6)} ${text.replaceAll('\n', `\n${' '.repeat(7)}`)}\n`);
  }
}
