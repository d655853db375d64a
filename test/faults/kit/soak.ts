/**
 * R13: many turns in one process, with the heap measured on the way: `npm run soak -- [--turns 10000] [--lanes 12]
 * [--each 50] [--read-every 4]`. Tasks of `--each` turns, `--lanes` of them at a time; each turn answers, every fourth one reads
 * something over SSH first. The jobs role, the model's client and SSH are the real ones; the bot is not part of it. Ends with 1 when the heap grows.
 */
import { parseArgs } from 'node:util';
import { asId, type MatrixEventId, type SessionId, type TurnId } from '../../../core/ids.ts';

// Read when the program's log is loaded.
process.env['NOMOS_LOG_LEVEL'] ??= 'silent';
const { EventFeed } = await import('../../../core/events/subscribe.ts');
const { receiveMessage } = await import('../../../core/tasks/messages.ts');
const { openTask } = await import('../../../core/tasks/open.ts');
const { scriptText } = await import('./model.ts');
const { HurtServices } = await import('./services.ts');
const { FaultWorld } = await import('./world.ts');

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '10000' },
    lanes: { type: 'string', default: '12' },
    each: { type: 'string', default: '50' },
    'read-every': { type: 'string', default: '4' },
  },
});
const turns = Number(values.turns);
const each = Number(values.each);
const sampleEvery = Math.max(1, Math.floor(turns / 40));
/** How much the middle of the last quarter's samples may lie above that of the second quarter's. */
const GROWTH_MIB = 10;
const MIB = 1024 * 1024;

const collect = globalThis.gc;
if (collect === undefined) throw new Error('start it with --expose-gc: npm run soak');

const services = await HurtServices.start({ fast: true });
const world = await FaultWorld.open({
  services,
  name: 'soak',
  seed: 1,
  matrix: false,
  light: true,
  workers: 1,
  movesClock: false,
});
const { database, operator } = world;
const feed = await EventFeed.open(database);
const samples: Array<{ turns: number; heapMib: number; externalMib: number; rssMib: number }> = [];
const since = performance.now();
let begun = 0;
let done = 0;

await Promise.all(Array.from({ length: Number(values.lanes) }, (_, lane) => work(lane)));
await feed.close();
await world.close();
await services.stop();

const middle = (from: number, to: number): number => {
  const part = samples.slice(Math.floor(samples.length * from), Math.floor(samples.length * to));
  return part.map(({ heapMib }) => heapMib).toSorted((a, b) => a - b)[part.length >> 1] ?? NaN;
};
const [early, late] = [middle(0.25, 0.5), middle(0.75, 1)];
const flat = late - early <= GROWTH_MIB;
process.stdout.write(
  `${JSON.stringify({ turns: done, seconds: Math.round((performance.now() - since) / 1000), secondQuarterMib: early, lastQuarterMib: late, flat })}\n`,
);
process.exitCode = flat ? 0 : 1;

/** One task after another, turn by turn. */
async function work(lane: number): Promise<void> {
  for (let task = 0; begun < turns; task++) {
    let open: { sessionId: SessionId; turnId: TurnId } | undefined;
    for (let turn = 0; turn < each && begun < turns; turn++) {
      begun++;
      const reads = turn % Number(values['read-every']) === 0;
      const token = `t${lane}x${task}x${turn}`;
      // Without a step that the model knows it answers at once.
      const text = reads
        ? scriptText({ token, steps: ['read'], goal: false })
        : `This is new work for you, ${token}: nothing.`;
      const eventId = asId<MatrixEventId>(`$${lane}-${task}-${turn}`);
      const by = operator.userId;
      if (open === undefined) {
        open = await database.write((unit) =>
          openTask(unit, { by, text, origin: { kind: 'lobby', eventId } }),
        );
      } else {
        const where = open;
        await database.write((unit) =>
          receiveMessage(unit, { ...where, text, sender: by, eventId }),
        );
      }
      await ended(open.sessionId);
      if (++done % sampleEvery === 0) sample();
    }
  }
}

/** Waits until the task has nothing to do any more. */
async function ended(sessionId: SessionId): Promise<void> {
  const over = await feed.waitFor(
    (event) => event.type === 'pass.ended' && event.sessionId === sessionId,
    async () => {
      const open = await database.read.pass.count({
        where: { sessionId, state: { in: ['queued', 'running'] } },
      });
      return open === 0 ? true : undefined;
    },
    // A machine with other work to do may take minutes for a turn.
    { timeoutMs: 3_600_000 },
  );
  if (over === undefined) throw new Error(`a turn of ${sessionId} did not end`);
}

function sample(): void {
  collect?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  const one = {
    turns: done,
    heapMib: round(heapUsed / MIB),
    externalMib: round(external / MIB),
    rssMib: round(rss / MIB),
  };
  samples.push(one);
  process.stdout.write(`${JSON.stringify(one)}\n`);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
