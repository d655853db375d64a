import { FAULT_POINTS } from './points.ts';
import type { Random } from './random.ts';
import { LEASE_MS, type FaultWorld } from './world.ts';

/** One fault: done by `inject`, which settles once the cause is gone (its consequences go on). */
export interface Fault {
  name: string;
  inject: (world: FaultWorld) => Promise<void>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Chooses a fault for a world. */
export function chooseFault(random: Random, world: FaultWorld): Fault {
  const rooms = world.matrix !== undefined;
  const victim = random.pick(world.processes);
  const some = random.int(1, 8) * 100;
  const kind = random.weighted([
    [28, 'kill at'],
    [rooms ? 18 : 0, 'kill bot at'],
    [8, 'kill now'],
    [4, 'freeze'],
    [world.processes.length > 1 ? 10 : 2, 'freeze long'],
    [14, 'cut database'],
    [3, 'crash database'],
    [10, 'flush redis'],
    [4, 'crash redis'],
    [12, 'cut ssh'],
    [5, 'crash sshd'],
    [world.cable === undefined ? 0 : 16, 'pull cable'],
    [4, 'part database'],
    [4, 'part Redis'],
    [4, 'terminate'],
    [victim.setClock === undefined ? 0 : 8, 'move clock'],
    // Of all worlds of the run, so that only a run with one world asks for it.
    [world.services.clock === undefined || !world.movesClock ? 0 : 6, 'move database clock'],
    [rooms ? 24 : 0, 'homeserver'],
  ] as const);
  switch (kind) {
    case 'kill at':
    case 'kill bot at': {
      const { name, passings } = random.pick(
        FAULT_POINTS.filter(({ where }) =>
          kind === 'kill at'
            ? where === 'jobs'
            : where === 'bot' || (where === 'crypto' && world.matrix?.encrypted === true),
        ),
      );
      const at = `${name}#${random.int(1, passings)}`;
      const who = kind === 'kill at' ? victim : world.processes[0];
      return {
        name: `kill ${who?.name} at ${at}`,
        inject: async () => {
          if (who !== undefined) world.armKill(at, who);
        },
      };
    }
    case 'kill now':
      return { name: `kill ${victim.name}`, inject: async () => void victim.signal('SIGKILL') };
    case 'freeze':
      return {
        name: `freeze ${victim.name} for ${some} ms`,
        async inject() {
          victim.signal('SIGSTOP');
          await pause(some);
          victim.signal('SIGCONT');
        },
      };
    case 'freeze long': {
      // Its leases end, others take over, and then it wakes up and goes on where it was.
      const forMs = LEASE_MS + random.int(5, 40) * 100;
      return {
        name: `freeze ${victim.name} longer than a lease, ${forMs} ms`,
        async inject() {
          victim.signal('SIGSTOP');
          await pause(forMs);
          victim.signal('SIGCONT');
        },
      };
    }
    case 'cut database':
      return {
        name: 'cut all database connections',
        inject: async () => void (await world.services.cutDatabaseConnections(world.databaseName)),
      };
    case 'crash database':
      return { name: 'crash the database', inject: () => world.services.crashPostgres() };
    case 'flush redis':
      return { name: 'flush Redis', inject: () => world.services.flushRedis() };
    case 'crash redis':
      return { name: `crash Redis, ${some} ms`, inject: () => world.services.crashRedis(some) };
    case 'cut ssh':
      return {
        name: 'cut all SSH connections',
        inject: async () => world.sshd.signalSessions('SIGKILL'),
      };
    case 'pull cable': {
      // Short enough for TCP to get over it, or longer than the keepalive has patience: 28 s in a program of its own.
      const forMs = random.chance(0.7) ? random.int(3, 60) * 100 : random.int(300, 360) * 100;
      return {
        name: `pull the cable of the hosts, ${forMs} ms`,
        async inject() {
          world.cable?.pull();
          await pause(forMs);
          world.cable?.plug();
        },
      };
    }
    case 'part database':
    case 'part Redis': {
      const forMs = random.chance(0.5) ? some : LEASE_MS + random.int(5, 40) * 100;
      const from = kind === 'part Redis' ? 'Redis' : 'database';
      return {
        name: `${victim.name} and the ${from} hear nothing of each other, ${forMs} ms`,
        async inject() {
          const join = victim.part(from);
          await pause(forMs);
          join();
        },
      };
    }
    case 'crash sshd':
      return {
        name: `crash sshd, ${some} ms`,
        async inject() {
          await world.sshd.crash();
          await pause(some);
          await world.sshd.listen();
        },
      };
    case 'terminate':
      return { name: `end ${victim.name} in good order`, inject: () => endInOrder(world, victim) };
    case 'move clock': {
      const hours = random.pick([1, -1, 0]);
      return {
        name: `the clock of ${victim.name} is off by ${hours} h`,
        async inject() {
          victim.setClock?.(hours * 3_600);
          world.clockMoved = true;
        },
      };
    }
    case 'move database clock': {
      const hours = random.pick([1, -1, 0]);
      return {
        name: `the clock of the database is off by ${hours} h`,
        async inject() {
          world.services.clock?.set(hours * 3_600);
          world.clockMoved = true;
        },
      };
    }
    case 'homeserver':
      return homeserverTrouble(random);
  }
}

/** J7: within 20 s, with exit code 0. */
async function endInOrder(
  world: FaultWorld,
  victim: FaultWorld['processes'][number],
): Promise<void> {
  if (!victim.up) return;
  const release = world.hold(victim);
  const since = performance.now();
  const { code, signal } = await victim.end('SIGTERM');
  const took = performance.now() - since;
  if (took > 20_000) world.oddities.push(`J7: SIGTERM took ${Math.round(took)} ms`);
  // A fuse may have burnt down on the way.
  if (code !== 0 && signal !== 'SIGKILL')
    world.oddities.push(`J7: SIGTERM ended with ${code ?? signal}:\n${victim.log.slice(-2_000)}`);
  release();
}

/** For a while the homeserver answers badly to a share of the requests. */
function homeserverTrouble(random: Random): Fault {
  const how = random.pick(['lose answer', 'cut', 'half', '429', '500'] as const);
  const share = random.pick([0.2, 0.5, 1]);
  const forMs = random.int(3, 15) * 100;
  const own = random.fork();
  return {
    name: `the homeserver: ${how} for ${share} of the requests, ${forMs} ms`,
    async inject(world) {
      const { matrix } = world;
      if (matrix === undefined) return;
      matrix.proxy.rule = ({ path }) => {
        if (path.endsWith('/sync') && how === '429') return 'pass';
        if (!own.chance(share)) return 'pass';
        switch (how) {
          case '429':
            return {
              status: 429,
              body: { errcode: 'M_LIMIT_EXCEEDED', error: 'slow', retry_after_ms: 200 },
            };
          case '500':
            return { status: 500, body: { errcode: 'M_UNKNOWN', error: 'Internal server error' } };
          default:
            return how;
        }
      };
      await pause(forMs);
      matrix.proxy.rule = () => 'pass';
    },
  };
}
