import './quiet.ts';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readConfig } from '../core/config/config.ts';
import { ConfigurationError, errorText, NomosError } from '../core/errors.ts';
import { PROGRAM_ROLES, startProgram } from '../core/program.ts';
import { acceptInvitations } from './accept-invitations.ts';
import { checkSettings } from './check-settings.ts';
import { startDefaults } from './defaults.ts';
import { leaveEnvironment } from './environment.ts';
import { lookFor } from './lobby.ts';

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** `npm start`: whatever the environment does not name is started, then Nomos itself, and the chat page's address is printed. */
async function start(): Promise<void> {
  const values = readArguments();
  if (existsSync('.env')) process.loadEnvFile('.env');
  checkSettings(process.env);
  const ended = signalled();
  const stop = new AbortController();
  void ended.then(() => stop.abort());
  const home = process.env['NOMOS_HOME'] || '.nomos';
  const defaults = await startDefaults(process.env, { home, onProgress: say });
  const stack = new AsyncDisposableStack();
  stack.defer(() => defaults.stop());
  try {
    const config = readConfig(defaults.environment);
    stack.defer(leaveEnvironment(home, defaults.environment));
    say('Nomos: starting');
    const program = await startProgram(config, new Set(PROGRAM_ROLES));
    stack.defer(() => program.stop());
    const { homeserver } = defaults;
    if (homeserver !== undefined) {
      const account = { ...homeserver.operator, url: homeserver.url };
      stack.defer(acceptInvitations(account, homeserver.bot.userId));
    }
    const lobby = await lookFor(config.databaseUrl, program.failed, stop.signal, () =>
      say(`Nomos: waiting. ${program.trouble() ?? 'The bot is making its rooms.'}`),
    );
    if (lobby === undefined) return;
    const page = await defaults.serveChat(() => lobby);
    say('');
    say(program.describe());
    for (const note of defaults.notes) say(`  · ${note}`);
    if (page !== undefined && homeserver !== undefined) {
      defaults.announce(page.url);
      say('');
      say('Chat with it in your browser (you are signed in as the operator):');
      say(`  ${page.url}`);
      say('');
      say('Or in Element, with the homeserver and account:');
      say(
        `  ${homeserver.url}   ${homeserver.operator.userId}   password: ${homeserver.operator.password}`,
      );
      if (!values['no-open']) openBrowser(page.url);
    }
    say('');
    say('Ctrl-C ends it, with all that it started.');
    const reason = await Promise.race([ended, program.failed]);
    say('Ending …');
    if (reason instanceof Error) throw reason;
  } finally {
    await stack.disposeAsync();
  }
}

function readArguments(): { 'no-open': boolean } {
  try {
    return parseArgs({ options: { 'no-open': { type: 'boolean', default: false } } }).values;
  } catch (error) {
    throw new ConfigurationError(`npm start: ${errorText(error)}`, {
      hint: 'It takes --no-open (do not open a browser). It runs all roles; `npm run nomos -- start --role …` runs some.',
    });
  }
}

function signalled(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => resolve(signal));
    }
  });
}

/** Opens the page where there is a desktop to open it on; elsewhere the printed address has to do. */
function openBrowser(url: string): void {
  if (!process.stdout.isTTY || process.env['CI'] !== undefined) return;
  const desktop = process.platform === 'darwin' || process.env['DISPLAY'] !== undefined;
  if (!desktop) return;
  const opener = spawn(process.platform === 'darwin' ? 'open' : 'xdg-open', [url], {
    stdio: 'ignore',
    detached: true,
  });
  // No opener on this desktop: the address stands above.
  opener.on('error', () =>
    say('(Open the address yourself: there is no program here that opens it.)'),
  );
  opener.unref();
}

try {
  await start();
} catch (error) {
  if (!(error instanceof NomosError)) throw error;
  say(`nomos: ${error.message}`);
  if (error.hint !== undefined) say(error.hint);
  process.exitCode = 1;
}
