import { resolve } from 'node:path';
import type { ChatPage } from './chat/index.ts';
import { startChatPage } from './chat/index.ts';
import { startDemoFleet } from './fleet/index.ts';
import { startDemoModel } from './model/index.ts';
import { startEmbedded, type EmbeddedHomeserver } from './services/index.ts';

/** What stands in for whatever the environment does not name (design 8). */
export interface Defaults {
  /** The environment, completed. */
  environment: NodeJS.ProcessEnv;
  /** Set when the embedded homeserver runs. */
  homeserver: EmbeddedHomeserver | undefined;
  /** Which of the defaults are in use, in words. */
  notes: string[];
  /** Tells whoever starts Nomos a second time in this folder where the running one is found. */
  announce(url: string): void;
  /** Serves the chat page for the embedded homeserver's operator. */
  serveChat(lobby: () => string | undefined): Promise<ChatPage | undefined>;
  /** Ends what was started. */
  stop(): Promise<void>;
}

/** How the defaults are started. */
export interface DefaultsOptions {
  /** The folder for their state. */
  home: string;
  /** Where the Python packages are kept; default `home`. */
  packages?: string;
  /** How fast the simulated machines work; 1 is lifelike. */
  pace?: number;
  onProgress: (text: string) => void;
}

/**
 * Starts the embedded services, the demo model and the demo fleet, each only if the environment does not name something of
 * its own, and gives the environment in which the program itself then starts.
 */
export async function startDefaults(
  given: NodeJS.ProcessEnv,
  options: DefaultsOptions,
): Promise<Defaults> {
  const home = resolve(options.home);
  const environment = { ...given };
  const notes: string[] = [];
  const stack = new AsyncDisposableStack();
  const missing = (...names: string[]): boolean =>
    names.every((name) => !isSet(given[name]) && !isSet(given[`${name}_FILE`]));
  try {
    const services = await startEmbedded({
      home,
      ...(options.packages === undefined ? {} : { packages: options.packages }),
      need: {
        postgres: missing('DATABASE_URL'),
        redis: missing('REDIS_URL'),
        homeserver: missing('MATRIX_HOMESERVER_URL'),
      },
      onProgress: options.onProgress,
    });
    stack.defer(() => services.stop());
    if (services.databaseUrl !== undefined) environment['DATABASE_URL'] = services.databaseUrl;
    if (services.redisUrl !== undefined) environment['REDIS_URL'] = services.redisUrl;
    const { homeserver } = services;
    if (homeserver !== undefined) {
      environment['MATRIX_HOMESERVER_URL'] = homeserver.url;
      environment['MATRIX_ACCESS_TOKEN'] = homeserver.bot.accessToken;
      // With it the account signs its device, and no client warns of that.
      environment['MATRIX_PASSWORD'] = homeserver.bot.password;
      if (missing('NOMOS_OPERATORS')) {
        environment['NOMOS_OPERATORS'] = `${homeserver.operator.userId}=admin`;
      }
      notes.push(
        'The homeserver is the embedded one: it is for trying Nomos out, on this machine alone.',
      );
    }
    if (missing('OPENAI_API_KEY', 'OPENAI_BASE_URL')) {
      const model = await startDemoModel();
      stack.defer(() => model.stop());
      environment['OPENAI_BASE_URL'] = model.baseUrl;
      environment['OPENAI_API_KEY'] = 'demo-model';
      environment['NOMOS_MODEL'] = 'nomos-demo';
      notes.push(
        'The model is the built-in demo model, which plays a few tasks. Set OPENAI_API_KEY (and OPENAI_BASE_URL, NOMOS_MODEL) for a real one.',
      );
    }
    if (missing('NOMOS_INVENTORY')) {
      const fleet = await startDemoFleet({
        home: resolve(home, 'fleet'),
        ...(options.pace === undefined ? {} : { pace: options.pace }),
      });
      stack.defer(() => fleet.stop());
      environment['NOMOS_INVENTORY'] = fleet.inventoryPath;
      environment['NOMOS_SSH_KEY_FILE'] = fleet.privateKeyPath;
      environment['NOMOS_KNOWN_HOSTS'] = fleet.knownHostsPath;
      notes.push(
        'The fleet is simulated: no command runs on this machine. Set NOMOS_INVENTORY for a real one.',
      );
    }
    const parts = stack.move();
    return {
      environment,
      homeserver,
      notes,
      announce: (url) => services.announce(url),
      async serveChat(lobby) {
        if (homeserver === undefined) return undefined;
        const page = await startChatPage({
          home,
          homeserverUrl: homeserver.url,
          session: homeserver.operator,
          lobby,
        });
        parts.defer(() => page.stop());
        return page;
      },
      stop: () => parts.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== '';
}
