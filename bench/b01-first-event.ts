import { LogLevel, LogService, MatrixClient, MemoryStorageProvider } from 'matrix-bot-sdk';
import { NomosWorld } from '../test/support/nomos-world.ts';
import type { Benchmark } from './lib/benchmark.ts';
import { inTurn, ratio, summarise } from './lib/stats.ts';

/** From an operator's message to the bot's first event, against the smallest bot that one can write with matrix-bot-sdk. */
export const firstEventBench: Benchmark = {
  id: 'B1',
  title: 'from a message to the first event',
  async run({ quick }) {
    await using world = await NomosWorld.open();
    const ann = await world.person('ann', 'admin');
    await world.start();
    world.model.script({ text: 'Ready.' });
    const { roomId, sessionId } = await world.ask(ann, 'Are you there?');
    await world.done(sessionId);

    LogService.setLevel(LogLevel.ERROR);
    const account = await world.homeserver.newUser('echo');
    const echo = new MatrixClient(
      world.homeserver.url,
      account.accessToken,
      new MemoryStorageProvider(),
    );
    echo.on(
      'room.message',
      (room: string, event: { sender: string; content: { body?: string } }) => {
        if (event.sender !== account.userId)
          void echo.sendText(room, `echo ${event.content.body ?? ''}`);
      },
    );
    const echoRoom = await ann.createRoom({ invite: [account.userId], preset: 'private_chat' });
    await echo.joinRoom(echoRoom);
    await echo.start();

    let asked = 0;
    const nomos = async (): Promise<number> => {
      // A model that answers at once: what it takes in earnest is its own.
      world.model.script({ text: `Answer ${++asked}.` });
      const from = performance.now();
      const message = await ann.say(roomId, `Question ${asked}?`);
      await ann.event(
        roomId,
        ({ sender, content }) =>
          sender === world.bot.userId && JSON.stringify(content).includes(message),
      );
      const took = performance.now() - from;
      await ann.message(roomId, `Answer ${asked}.`);
      return took;
    };
    const bare = async (): Promise<number> => {
      const body = `Question ${++asked}?`;
      const from = performance.now();
      await ann.say(echoRoom, body);
      await ann.message(echoRoom, `echo ${body}`);
      return performance.now() - from;
    };
    try {
      const times = await inTurn(
        { nomos, bare },
        { rounds: quick ? 3 : 25, warmUps: quick ? 1 : 10 },
      );
      const over = ratio(times.nomos, times.bare);
      return [
        {
          name: 'first event, over a bare echo bot',
          value: over.value,
          unit: '×',
          goal: { atMost: 1.5 },
          range: over,
          sides: { nomos: summarise(times.nomos), echo: summarise(times.bare) },
        },
      ];
    } finally {
      echo.stop();
    }
  },
};
