import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { EXIT, UsageError, type Command, type CommandIo } from './cli/command.ts';
import { NomosError } from './errors.ts';
import { VERSION } from './version.ts';

/** A command as `--help` lists it. Its code is loaded only when it is called: most need a small part of the program. */
interface Entry {
  name: string;
  summary: string;
  load(): Promise<Command>;
}

const COMMANDS: readonly Entry[] = [
  {
    name: 'start',
    summary: 'run the bot, the jobs and the API',
    load: async () => (await import('./cli/start.ts')).startCommand,
  },
  {
    name: 'doctor',
    summary: 'check the configuration and all that it names',
    load: async () => (await import('./cli/doctor/command.ts')).doctorCommand,
  },
  {
    name: 'migrate',
    summary: 'bring the database up to this version',
    load: async () => (await import('./cli/migrate.ts')).migrateCommand,
  },
  {
    name: 'seed',
    summary: 'load the ontology and the inventory',
    load: async () => (await import('./cli/seed.ts')).seedCommand,
  },
  {
    name: 'token',
    summary: 'make, list and revoke tokens for the API',
    load: async () => (await import('./cli/token.ts')).tokenCommand,
  },
  {
    name: 'trust',
    summary: 'vouch for an operator’s new signing keys',
    load: async () => (await import('./cli/trust.ts')).trustCommand,
  },
  {
    name: 'audit',
    summary: 'check that the audit log was not changed',
    load: async () => (await import('./cli/audit.ts')).auditCommand,
  },
  {
    name: 'classify',
    summary: 'say what class a command is, and why',
    load: async () => {
      const { runClassify } = await import('./policy/classify-cli.ts');
      return { name: 'classify', usage: '', run: runClassify };
    },
  },
  {
    name: 'intent',
    summary: 'say whether words approve, confirm or deny',
    load: async () => {
      const { runIntent } = await import('./approvals/intent-cli.ts');
      return { name: 'intent', usage: '', run: runIntent };
    },
  },
  {
    name: 'version',
    summary: 'print the version',
    load: async () => ({
      name: 'version',
      usage: 'nomos version',
      async run(_argv, io) {
        io.stdout.write(`${VERSION}\n`);
        return EXIT.ok;
      },
    }),
  },
];

function help(): string {
  const rows = COMMANDS.map((entry) => `  ${entry.name.padEnd(10)}${entry.summary}`);
  return `nomos ${VERSION}: a Matrix bot that runs a fleet together with its operator\n\n${rows.join('\n')}\n\nnomos demo plays one conversation over embedded services. nomos COMMAND --help says more. Options come from the environment: docs/configuration.md.\n`;
}

/** Runs one command of the command line and gives its exit code. Errors are told in one clear sentence each. */
export async function main(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    io.stdout.write(help());
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  const entry = COMMANDS.find((candidate) => candidate.name === name);
  if (entry === undefined) {
    io.stderr.write(`nomos: there is no command "${name}".\n\n${help()}`);
    return EXIT.usage;
  }
  const command = await entry.load();
  // A command without a usage of its own answers --help by itself.
  if (command.usage !== '' && (rest.includes('--help') || rest.includes('-h'))) {
    io.stdout.write(`${command.usage}\n`);
    return EXIT.ok;
  }
  try {
    return await command.run(rest, io);
  } catch (error) {
    return tell(error, command, io);
  }
}

function tell(error: unknown, command: Command, io: CommandIo): number {
  if (error instanceof UsageError || isArgumentError(error)) {
    io.stderr.write(`nomos ${command.name}: ${error.message}\n\n${command.usage}\n`);
    return EXIT.usage;
  }
  if (error instanceof NomosError) {
    io.stderr.write(
      `nomos: ${error.message}\n${error.hint === undefined ? '' : `${error.hint}\n`}`,
    );
    return EXIT.failed;
  }
  throw error;
}

function isArgumentError(error: unknown): error is Error {
  return (
    error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
  );
}

if (import.meta.main) {
  // Halves the time to load the program from its second start on. Where the folder cannot be written, there is no cache.
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));
  if (existsSync('.env')) process.loadEnvFile('.env');
  process.exitCode = await main(process.argv.slice(2), process);
  // A connection that hangs must not keep a program alive that has ended in good order (J7).
  if (process.argv[2] === 'start') setTimeout(() => process.exit(), 1_000).unref();
}
