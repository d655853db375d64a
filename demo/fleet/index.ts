import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { errorText } from '../../core/errors.ts';
import { DemoFleetError } from './errors.ts';
import { HOST_SLUGS, openHome, writeHome } from './home.ts';
import type { FleetHome } from './home.ts';
import type { FleetCommand } from './ssh/session.ts';
import type { WorkerMessage, workerInput } from './worker.ts';
import type { z } from 'zod';

export type { FleetCommand } from './ssh/session.ts';

/** How to start the demo fleet. */
export interface DemoFleetOptions {
  /** The folder for its keys, ports and inventory; made if it is not there. */
  readonly home: string;
  /**
   * The port of each machine by slug. One that is taken is then an error. Left out, the ports of the last start are taken again,
   * or free ones where that cannot be.
   */
  readonly ports?: Readonly<Record<string, number>>;
  /** 1, the default, is lifelike; 0.01 makes all that takes time a hundred times as fast. 0.001 to 10. */
  readonly pace?: number;
  /** Told of each command that reaches a machine. */
  readonly onCommand?: (command: FleetCommand) => void;
  /** Told when the fleet ends without being asked to. Without it, that is an uncaught error. */
  readonly onFailure?: (error: DemoFleetError) => void;
}

/** A running demo fleet. */
export interface DemoFleet {
  /** The inventory to give to Nomos. */
  readonly inventoryPath: string;
  /** The key that logs in as root, ed25519. */
  readonly privateKeyPath: string;
  /** The machines' host keys in the format of known_hosts. */
  readonly knownHostsPath: string;
  readonly hosts: readonly { readonly slug: string; readonly port: number }[];
  stop(): Promise<void>;
}

/** Most that the fleet's thread may use for its objects, in MiB. */
const MAX_MEMORY_MIB = 512;
const SEED = fileURLToPath(new URL('../../seeds/inventory.demo.yaml', import.meta.url));

/**
 * Starts the demo fleet on 127.0.0.1, in a thread of this process. Nothing that is sent to it is run on this machine: its
 * shells are simulated over files in memory, which last as long as the fleet runs. Throws `DemoFleetError` for a port that is
 * taken or a key file that cannot be used.
 */
export async function startDemoFleet(options: DemoFleetOptions): Promise<DemoFleet> {
  const home = openHome(options.home);
  const worker = startWorker(home, options);
  let stopping = false;
  const ports = await new Promise<Map<string, number>>((resolve, reject) => {
    let ready = false;
    const fail = (error: DemoFleetError): void => {
      if (!ready) reject(error);
      else if (!stopping && options.onFailure) options.onFailure(error);
      else if (!stopping) throw error;
    };
    worker.on('message', (message: WorkerMessage) => {
      if (message.type === 'command') {
        options.onCommand?.(message.command);
      } else if (message.type === 'taken') {
        const { slug, port } = message;
        fail(
          new DemoFleetError(`Port ${port} for ${slug} of the demo fleet is taken.`, {
            hint: 'Choose another port, or none.',
          }),
        );
      } else {
        ready = true;
        resolve(new Map(message.ports));
      }
    });
    worker.on('error', (cause) =>
      fail(new DemoFleetError(`The demo fleet failed: ${errorText(cause)}`, { cause })),
    );
    worker.on('exit', (code) =>
      fail(new DemoFleetError(`The demo fleet ended with code ${code}.`)),
    );
  }).catch(async (error: unknown) => {
    stopping = true;
    await worker.terminate();
    throw error;
  });
  return {
    ...writeHome(home, ports, SEED),
    privateKeyPath: home.privateKeyPath,
    hosts: [...ports].map(([slug, port]) => ({ slug, port })),
    stop: async () => {
      stopping = true;
      await worker.terminate();
    },
  };
}

function startWorker(home: FleetHome, options: DemoFleetOptions): Worker {
  const input: z.infer<typeof workerInput> = {
    pace: options.pace ?? 1,
    clientKey: home.clientKey.publicKey,
    hosts: HOST_SLUGS.map((slug) => ({
      slug,
      hostKey: home.hostKeys.get(slug)?.privateKey ?? '',
      port: options.ports?.[slug] ?? home.ports.get(slug) ?? 0,
      exact: options.ports?.[slug] !== undefined,
    })),
  };
  return new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: input,
    // The simulated shells see none of this process's variables, whatever they find to break.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MIB },
  });
}
