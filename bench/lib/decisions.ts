import { readFileSync } from 'node:fs';
import path from 'node:path';
import { closeGrants } from '../../core/policy/grants.ts';
import { asId, type SessionId } from '../../core/ids.ts';
import { NomosWorld } from '../../test/support/nomos-world.ts';
import { request, runnerFor } from '../../test/support/remote.ts';
import type { Person } from '../../test/support/matrix.ts';
import type { BenchContext } from './benchmark.ts';
import { PollingWorker } from './polling.ts';

/** Both sides of B2 and B3, in milliseconds, in the order in which they were measured. */
export interface DecisionTimes {
  /** From the operator's tap, as it leaves their client, to the command's own first word. */
  readonly tapToStart: number[];
  /** From a decision in the database to the same, by a worker that polls; what Matrix costs is left out of it. */
  readonly polledStart: number[];
  /** From the command's last word to the model's next request. */
  readonly endToModel: number[];
  /** From an end in the database to a request to the model, by a worker that polls. */
  readonly polledModel: number[];
}

/** Now, by the same clock as the target's `date`, which is that of this machine. */
const now = (): number => performance.timeOrigin + performance.now();

let measured: Promise<DecisionTimes> | undefined;

/** Measures changes that an operator decides by a tap, once for both benchmarks. */
export function decisionTimes(context: BenchContext): Promise<DecisionTimes> {
  return (measured ??= measure(context));
}

async function measure({ quick, say }: BenchContext): Promise<DecisionTimes> {
  const rounds = quick ? 2 : 12;
  await using world = await NomosWorld.open();
  const ann = await world.person('ann', 'admin');
  await world.start();
  world.model.script({ text: 'Ready.' });
  const room = await world.ask(ann, 'Are you there?');
  await world.done(room.sessionId);
  await using polled = await polledSide(world);
  const times: DecisionTimes = { tapToStart: [], polledStart: [], endToModel: [], polledModel: [] };
  // The first rounds warm up and do not count: a bot that has run for a while has its code compiled.
  for (let round = quick ? -1 : -6; round < rounds; round++) {
    const ours = await decided(world, ann, room, round);
    const theirs = await polled.once(round);
    if (round < 0) continue;
    times.tapToStart.push(ours.start);
    times.endToModel.push(ours.model);
    times.polledStart.push(theirs.start);
    times.polledModel.push(theirs.model);
  }
  say(`${rounds} changes, each with its tap`);
  return times;
}

/** One change: asked for, approved by a tap, run, and taken up by the model. */
async function decided(
  world: NomosWorld,
  ann: Person,
  { roomId, sessionId }: { roomId: string; sessionId: string },
  round: number,
): Promise<{ start: number; model: number }> {
  const file = `ours-${round}`;
  let asked: (at: number) => void = () => {};
  const modelAt = new Promise<number>((resolve) => (asked = resolve));
  world.model.script(
    {
      toolCalls: [
        {
          name: 'run',
          arguments: { target: 'host:web-1', command: stamps(world, file), purpose: 'a change' },
        },
      ],
    },
    { text: 'I asked for it.' },
    () => {
      asked(now());
      return { text: 'Done.' };
    },
  );
  await ann.say(roomId, `Make change ${round}.`);
  const card = await world.waiting(ann, roomId);
  // The pass must be over, so that the end of the command wakes a new one.
  await world.until('the pass is over', async () =>
    (await world.database.read.pass.count({
      where: { sessionId, state: { in: ['queued', 'running'] } },
    })) === 0
      ? true
      : undefined,
  );
  const tap = now();
  await ann.react(roomId, card.eventId, '✅');
  const model = await modelAt;
  const [start, end] = stampsIn(world, file);
  // A tap also lets the next changes run by themselves: that is taken back, so that each of them is decided.
  await world.database.write((unit) =>
    closeGrants(unit, { sessionId: asId<SessionId>(sessionId), reason: 'revoked', by: ann.userId }),
  );
  await world.until('the answer is told', async () =>
    (await world.database.read.pass.count({
      where: { sessionId, state: { in: ['queued', 'running'] } },
    })) === 0
      ? true
      : undefined,
  );
  return { start: start - tap, model: model - end };
}

/** The same work by a worker that polls: it reads the database, starts the command over SSH, and asks the model. */
async function polledSide(world: NomosWorld) {
  const runner = runnerFor(world.sshd);
  const { read } = world.database;
  await read.$executeRaw`CREATE TABLE bench_due (name text PRIMARY KEY, what text NOT NULL)`;
  let finished: () => void = () => {};
  const worker = new PollingWorker(async () => {
    const due = await read.$queryRaw<Array<{ name: string; what: string }>>`
      DELETE FROM bench_due RETURNING name, what`;
    for (const { name, what } of due) {
      if (what === 'start')
        await runner.run(request(world.sshd, stamps(world, name), { kind: 'change' }));
      else await askModel(world.model.baseUrl);
      finished();
    }
  });
  const add = async (name: string, what: 'start' | 'model'): Promise<void> => {
    const over = new Promise<void>((resolve) => (finished = resolve));
    await read.$executeRaw`INSERT INTO bench_due (name, what) VALUES (${name}, ${what})`;
    await over;
  };
  return {
    async once(round: number): Promise<{ start: number; model: number }> {
      const name = `polled-${round}`;
      await worker.someMoment();
      const decidedAt = now();
      await add(name, 'start');
      let modelAt = 0;
      world.model.script(() => {
        modelAt = now();
        return { text: 'Well.' };
      });
      await worker.someMoment();
      const endedAt = now();
      await add(name, 'model');
      return { start: stampsIn(world, name)[0] - decidedAt, model: modelAt - endedAt };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      worker.stop();
      await runner.close();
    },
  };
}

async function askModel(baseUrl: string): Promise<void> {
  await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'scripted', messages: [{ role: 'user', content: 'Next?' }] }),
  });
}

/** A change that writes down when it began and when it ended, in nanoseconds. */
function stamps(world: NomosWorld, name: string): string {
  const file = path.join(world.sshd.home, name);
  return `date +%s%N >${file}; sleep 0.2; date +%s%N >>${file}`;
}

function stampsIn(world: NomosWorld, name: string): [start: number, end: number] {
  const [start, end] = readFileSync(path.join(world.sshd.home, name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => Number(BigInt(line) / 1_000n) / 1_000);
  if (start === undefined || end === undefined) throw new Error(`${name} did not run to its end`);
  return [start, end];
}
