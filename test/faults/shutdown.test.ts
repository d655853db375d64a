import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Person } from '../support/matrix.ts';
import { NomosWorld } from '../support/nomos-world.ts';

const linesOf = (file: string): string[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];

let world: NomosWorld;
let ann: Person;
beforeAll(async () => {
  world = await NomosWorld.open();
  ann = await world.person('ann', 'admin');
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

test('J7, R6, R7, X7: SIGTERM under load: ended well within 20 s, commands go on and are attached to again, passes are taken up', async () => {
  const log = path.join(world.sshd.home, 'slow.log');
  const gate = path.join(world.sshd.home, 'gate');
  const command = (n: number): string =>
    `echo begin ${n} >> ${log}; while [ ! -e ${gate} ]; do sleep 0.2; done; echo end ${n} >> ${log}`;
  await world.start({ NOMOS_INLINE_WAIT: '1s' });
  const rooms: string[] = [];
  for (const n of [1, 2, 3]) {
    world.model.script(
      {
        toolCalls: [
          {
            name: 'run',
            arguments: { target: 'host:web-1', command: command(n), purpose: `A long change ${n}` },
          },
        ],
      },
      { text: `I asked for ${n}.` },
    );
    const { roomId } = await world.ask(ann, `a long change, number ${n}`);
    const card = await world.waiting(ann, roomId);
    await world.card(ann, roomId, ({ body }) => body.includes(`I asked for ${n}.`), 'it waits');
    await ann.react(roomId, card.eventId, '✅');
    await world.until('the command runs', async () =>
      linesOf(log).includes(`begin ${n}`) ? true : undefined,
    );
    rooms.push(roomId);
  }
  // And a pass in the middle of a question to a model that does not answer.
  world.model.script({ hang: true });
  const { sessionId } = await world.ask(ann, 'a question to a model that hangs');
  const asked = world.model.requests.length;
  await world.model.request(Math.max(asked, 7));

  const since = performance.now();
  expect(await world.end('SIGTERM')).toBe(0);
  expect(performance.now() - since).toBeLessThan(20_000);
  expect(await world.database.read.execution.count({ where: { status: 'running' } })).toBe(3);
  expect(await world.database.read.pass.findFirstOrThrow({ where: { sessionId } })).toMatchObject({
    state: 'queued',
    leaseOwner: null,
  });

  const answer = { text: 'That is the end of it.' };
  world.model.script(answer, answer, answer, answer);
  await world.start();
  await world.until('the pass is taken up', async () => {
    const pass = await world.database.read.pass.findFirstOrThrow({ where: { sessionId } });
    return pass.state === 'done' ? true : undefined;
  });
  await world.until('the commands are attached to', async () => {
    const rows = await world.database.read.execution.findMany({ where: { status: 'running' } });
    return rows.every(({ leaseUntil }) => leaseUntil !== null && leaseUntil > new Date())
      ? true
      : undefined;
  });
  writeFileSync(gate, '');
  for (const roomId of rooms)
    await world.card(ann, roomId, ({ body }) => body.includes('the end of it'), 'it was woken');
  const rows = await world.database.read.execution.findMany();
  expect(rows.map(({ status, continuation }) => `${status} ${continuation}`)).toEqual(
    rows.map(() => 'completed woken'),
  );
  expect(linesOf(log).toSorted()).toEqual(
    [1, 2, 3].flatMap((n) => [`begin ${n}`, `end ${n}`]).toSorted(),
  );
  world.model.verify();
});
