import { describe, expect, test } from 'vitest';
import { type WaitingRow, chooseInLane } from './select.ts';

let nextId = 1n;
function row(kind: string, priority: number, more: Partial<WaitingRow> = {}): WaitingRow {
  return { id: nextId++, lane: 'l', kind, priority, cardKey: null, waitMs: 0, ...more };
}
const noPace = () => 0;
/** That this row goes, as urgent as it is by itself unless said otherwise. */
const goes = (send: WaitingRow, urgency = send.priority) => ({ send, urgency });

describe('chooseInLane', () => {
  test('R5: new messages go in order, whatever their priority', () => {
    const first = row('send', 5, { cardKey: 'a' });
    expect(chooseInLane([first, row('send', 0)], noPace)).toEqual(goes(first, 0));
    const notice = row('send', 9);
    expect(chooseInLane([notice, row('send', 0)], noPace)).toEqual(goes(notice, 0));
  });

  test('R10: a message that an urgent one waits for goes before what is no more urgent than itself', () => {
    const edit = row('edit', 5, { cardKey: 'a' });
    const card = row('send', 5, { cardKey: 'b' });
    expect(chooseInLane([edit, card, row('send', 0)], noPace)).toEqual(goes(card, 0));
    expect(chooseInLane([edit, card], noPace)).toEqual(goes(edit));
    const later = row('edit', 0, { cardKey: 'c', waitMs: 500 });
    expect(chooseInLane([edit, card, later], noPace)).toEqual(goes(edit));
  });

  test('R10: what a person waits for overtakes the first message of a progress card, and that card’s edits stay behind it', () => {
    const progress = row('send', 9, { cardKey: 'progress:1' });
    const edit = row('edit', 0, { cardKey: 'progress:1' });
    const urgent = row('send', 0, { cardKey: 'execution:1' });
    expect(chooseInLane([progress, edit, urgent], noPace)).toEqual(goes(urgent));
    expect(chooseInLane([progress, edit], noPace)).toEqual(goes(progress));
  });

  test('R10: what a person waits for overtakes room names, pins and reactions', () => {
    const urgent = row('send', 0);
    const touches = [row('state', 5), row('react', 5), row('redact', 5)];
    expect(chooseInLane([...touches, urgent], noPace)).toEqual(goes(urgent));
  });

  test('R5: names, reactions and their withdrawal keep their order among each other', () => {
    const react = row('react', 5);
    expect(chooseInLane([react, row('redact', 0)], noPace)).toEqual(goes(react));
    const waiting = row('state', 5, { waitMs: 300 });
    expect(chooseInLane([waiting, row('state', 0)], noPace)).toEqual({ waitMs: 300 });
    const edit = row('edit', 5, { cardKey: 'a' });
    expect(chooseInLane([waiting, edit], noPace)).toEqual(goes(edit));
  });

  test('R5: a room’s name that waits holds up no reaction', () => {
    const name = row('state', 5, { waitMs: 900 });
    const react = row('react', 5);
    expect(chooseInLane([name, react, row('redact', 0)], noPace)).toEqual(goes(react));
  });

  test('R10: what a person waits for overtakes progress edits', () => {
    const urgent = row('send', 0);
    const edits = [row('edit', 9, { cardKey: 'a' }), row('edit', 9, { cardKey: 'b' })];
    expect(chooseInLane([...edits, urgent], noPace)).toEqual(goes(urgent));
  });

  test('R5: an edit never comes before the card that it edits', () => {
    const card = row('send', 9, { cardKey: 'a' });
    const edit = row('edit', 0, { cardKey: 'a' });
    expect(chooseInLane([card, edit], noPace)).toEqual(goes(card));
  });

  test('R5: an edit does not overtake a message that stands before it', () => {
    const message = row('send', 9);
    expect(chooseInLane([message, row('edit', 0, { cardKey: 'a' })], noPace)).toEqual(
      goes(message, 0),
    );
  });

  test('C1: an edit that its pace holds lets the rows behind it pass', () => {
    const edit = row('edit', 5, { cardKey: 'a' });
    const message = row('send', 9);
    expect(chooseInLane([edit, message], () => 700)).toEqual(goes(message));
    expect(chooseInLane([edit], () => 700)).toEqual({ waitMs: 700 });
  });

  test('R5: what concerns a card waits for the edit of that card before it', () => {
    const edit = row('edit', 5, { cardKey: 'a' });
    const redaction = row('redact', 0, { cardKey: 'a' });
    expect(chooseInLane([edit, redaction], () => 700)).toEqual({ waitMs: 700 });
    expect(chooseInLane([edit, redaction], noPace)).toEqual(goes(edit));
  });

  test('R5: a message that waits for its retry holds its lane', () => {
    const message = row('send', 5, { waitMs: 400 });
    expect(chooseInLane([message, row('send', 0)], noPace)).toEqual({ waitMs: 400 });
  });

  test('an empty lane has nothing to do', () => {
    expect(chooseInLane([], noPace)).toBeUndefined();
  });
});
