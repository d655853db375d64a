/**
 * R13: many turns in one process, with the heap measured on the way: `npm run soak -- [--turns 10000] [--lanes 12]
 * [--each 50] [--read-every 10] [--bot]`. Tasks of `--each` turns, `--lanes` of them at a time; each turn answers, every tenth one
 * reads something over SSH first. Jobs, the model's client and SSH are the real ones; with `--bot` the whole program, on a
 * homeserver of its own. Ends with 1 when the heap grows.
 */
import { parseArgs } from 'node:util';
import type { MatrixEventId, SessionId } from '../../../core/ids.ts';
import type { SoakTask } from './soak-talks.ts';

// Read when the program's log is loaded.
process.env['NOMOS_LOG_LEVEL'] ??= 'silent';
const { EventFeed } = await import('../../../core/events/subscribe.ts');
const { scriptText } = await import('./model.ts');
const { HurtServices } = await import('./services.ts');
const { talkByVerbs, talkThroughBot } = await import('./soak-talks.ts');

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '10000' },
    lanes: { type: 'string', default: '12' },
    each: { type: 'string', default: '50' },
    'read-every': { type: 'string', default: '10' },
    bot: { type: 'boolean', default: false },
  },
});
const turns = Number(values.turns);
const each = Number(values.each);
const sampleEvery = Math.max(1, Math.floor(turns / 40));
/** How much the middle of the last quarter's samples may lie above that of the second quarter's. */
const GROWTH_MIB = 10;
const MIB = 1024 * 1024;
/** A machine with other work to do may take minutes for a turn. */
const PATIENCE_MS = 3_600_000;

const collect = globalThis.gc;
if (collect === undefined) throw new Error('start it with --expose-gc: npm run soak');

const services = await HurtServices.start({ fast: true });
const talks = await (values.bot ? talkThroughBot : talkByVerbs)(services);
const { database } = talks;
const feed = await EventFeed.open(database);
const samples: Array<{ turns: number; heapMib: number; externalMib: number; rssMib: number }> = [];
const since = performance.now();
let begun = 0;
let done = 0;

await Promise.all(Array.from({ length: Number(values.lanes) }, (_, lane) => work(lane)));
await feed.close();
await talks.close();
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
    let open: SoakTask | undefined;
    for (let turn = 0; turn < each && begun < turns; turn++) {
      begun++;
      const reads = turn % Number(values['read-every']) === 0;
      const token = `t${lane}x${task}x${turn}`;
      // Without a step that the model knows it answers at once.
      const text = reads
        ? scriptText({ token, steps: ['read'], goal: false })
        : `This is new work for you, ${token}: nothing.`;
      const name = `${lane}-${task}-${turn}`;
      if (open === undefined) {
        open = await talks.open(text, name);
        await ended(open.sessionId);
      } else {
        await ended(open.sessionId, await open.say(text, name));
      }
      if (++done % sampleEvery === 0) sample();
    }
  }
}

/** Waits until a task has taken in what was said last, and has nothing to do or to say any more. */
async function ended(sessionId: SessionId, eventId?: MatrixEventId): Promise<void> {
  const look = async (): Promise<true | undefined> => {
    const [row] = await database.read.$queryRaw<Array<{ over: boolean }>>`
      SELECT NOT EXISTS (SELECT FROM passes WHERE session_id = ${sessionId}::uuid AND state IN ('queued', 'running'))
        AND NOT EXISTS (SELECT FROM matrix_outbox WHERE lane = ${`session:${sessionId}`} AND state = 'pending')
        AND (${eventId ?? null}::text IS NULL
          OR EXISTS (SELECT FROM messages WHERE event_id = ${eventId ?? null} AND taken_in_at IS NOT NULL)) AS over`;
    return row?.over === true ? true : undefined;
  };
  const deadline = performance.now() + PATIENCE_MS;
  let over: true | undefined;
  // That something was sent is no event: it is looked for again all the same.
  while (over === undefined && performance.now() < deadline)
    over = await feed.waitFor((event) => event.sessionId === sessionId, look, { timeoutMs: 500 });
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
