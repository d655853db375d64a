import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { asId, type RoomId } from '../../core/ids.ts';
import { TypingNotices } from './typing.ts';

const ROOM = asId<RoomId>('!room:test');

/** What was sent, each notice held until it is let go. */
function held() {
  const sent: boolean[] = [];
  const waiting: Array<() => void> = [];
  const typing = new TypingNotices(async (_room, body) => {
    sent.push(body.typing);
    await new Promise<void>((resolve) => waiting.push(resolve));
  });
  /** Lets the notice under way go, and sees what follows it. */
  const next = async (): Promise<void> => {
    await setImmediate();
    waiting.shift()?.();
    await setImmediate();
  };
  return { typing, sent, next };
}

test('C8: typing that is shown already is not sent again, and an end waits for its beginning', async () => {
  const { typing, sent, next } = held();
  typing.setTyping(ROOM, true);
  typing.setTyping(ROOM, true);
  typing.setTyping(ROOM, false);
  typing.setTyping(ROOM, true);
  await next();
  expect(sent).toEqual([true, false]);
  await next();
  await next();
  expect(sent).toEqual([true, false, true]);
});

test('C8: who joins is told of typing that began before, since homeservers tell only what begins', async () => {
  const { typing, sent, next } = held();
  typing.showAgain(ROOM);
  await next();
  expect(sent).toEqual([]);
  typing.setTyping(ROOM, true);
  await next();
  typing.showAgain(ROOM);
  for (let i = 0; i < 3; i++) await next();
  expect(sent).toEqual([true, false, true]);
});
