import type { UserId } from '../../core/ids.ts';
import { byteLength } from '../../core/text/clip.ts';
import { stack, type Rich } from './rich.ts';

/** A message as the bot shows it, ready to be put into a room. */
export interface Card {
  /** Plain text, as a phone's lock screen shows it. */
  readonly body: string;
  readonly formatted_body: string;
  /** Who is called by it; empty unless a person is needed (C10). */
  readonly mentions: readonly UserId[];
  readonly msgtype: 'm.text' | 'm.notice';
}

/**
 * What a card's text may take as JSON, in bytes. An edit carries its text twice, encryption adds a third, and the
 * homeserver adds its own fields: together that stays under Matrix's 64 KiB (C15).
 */
export const CARD_BYTES_MAX = 20_000;

/** How a card is sent: with whom it calls, and as what kind of message. */
export interface Delivery {
  readonly mentions?: readonly UserId[];
  readonly msgtype?: Card['msgtype'];
}

/** Makes a card of blocks. Without `mentions` it is a notice, which rings nowhere; with them it is a text (C10). */
export function cardOf(blocks: ReadonlyArray<Rich | undefined>, delivery: Delivery = {}): Card {
  const { text, html } = stack(blocks);
  const mentions = delivery.mentions ?? [];
  return {
    body: text,
    formatted_body: html,
    mentions,
    msgtype: delivery.msgtype ?? (mentions.length > 0 ? 'm.text' : 'm.notice'),
  };
}

/** Whether the card's text fits into an event, also as an edit. */
export function fits(card: Card): boolean {
  return byteLength(JSON.stringify([card.body, card.formatted_body])) <= CARD_BYTES_MAX;
}

/**
 * The first of several forms of a card that fits, from the fullest to the barest. The last form must fit by itself, as it
 * is taken in any case.
 */
export function fitting(forms: Iterable<() => Card>): Card {
  let last: Card | undefined;
  for (const form of forms) {
    last = form();
    if (fits(last)) return last;
  }
  if (last === undefined) throw new RangeError('a card needs at least one form');
  return last;
}
