import path from 'node:path';
import { expect, test } from 'vitest';
import { NomosWorld } from '../support/nomos-world.ts';
import { limitedHomeserver } from '../support/services.ts';

const run = (command: string, purpose: string) => ({
  name: 'run',
  arguments: { target: 'host:web-1', command, purpose },
});
/** Synapse's default: one event in 5 s, after 10 at once. */
const EVENT_MS = 5_000;

interface Sent {
  what: string;
  priority: number;
  waitedMs: number;
}

test('R10: on a homeserver with default limits the whole path delivers every card, and what needs a person waits least', async () => {
  await using world = await NomosWorld.open({ homeserver: limitedHomeserver });
  const ann = await world.person('ann', 'admin');
  await world.start();
  const marker = path.join(world.sshd.home, 'limited');
  world.model.script(
    { toolCalls: [{ name: 'set_goal', arguments: { goal: 'The marker is set' } }] },
    {
      toolCalls: [run('df -h /', 'Look at the disks'), run('cat /etc/hostname', 'Look who it is')],
    },
    { toolCalls: [run(`echo run >> ${marker}`, 'Set the marker')] },
    { text: 'I proposed it.' },
    { toolCalls: [run(`cat ${marker}`, 'Verify')] },
    {
      toolCalls: [
        { name: 'complete_task', arguments: { outcome: 'success', summary: 'The marker is set.' } },
      ],
    },
  );
  const { roomId, sessionId } = await world.ask(ann, 'set the marker');
  const card = await world.waiting(ann, roomId);
  await ann.react(roomId, card.eventId, '✅');
  await world.done(sessionId);
  const rows = await world.until(
    'everything has left',
    async () => {
      const all = await world.database.read.matrixOutbox.findMany({ orderBy: { id: 'asc' } });
      return all.some(({ state }) => state === 'pending') ? undefined : all;
    },
    90_000,
  );
  expect(rows.filter(({ state }) => state === 'failed')).toEqual([]);

  const sent = rows.flatMap((row): Sent[] =>
    row.sentAt === null
      ? []
      : [
          {
            what: [row.kind, row.cardKey?.split(':')[0] ?? row.eventType].join(' '),
            priority: row.priority,
            waitedMs: row.sentAt.getTime() - row.createdAt.getTime(),
          },
        ],
  );
  const lines = sent.map(
    ({ what, priority, waitedMs }) =>
      `  ${(waitedMs / 1000).toFixed(1).padStart(5)} s  priority ${priority}  ${what}`,
  );
  process.stdout.write(`How long each event waited under default limits:\n${lines.join('\n')}\n`);
  const needed = sent.filter(({ what, priority }) => priority === 0 && what.startsWith('send'));
  const longest = Math.max(...needed.map(({ waitedMs }) => waitedMs));
  expect(needed.length).toBeGreaterThanOrEqual(3);
  // What was being said when it came, the two reactions on a card, the answer and the card before it: five events at most.
  expect(longest).toBeLessThan(5 * EVENT_MS);
  const progress = sent.filter(({ what }) => what.endsWith('progress'));
  expect(Math.max(...progress.map(({ waitedMs }) => waitedMs))).toBeGreaterThan(longest);
  world.model.verify();
}, 240_000);
