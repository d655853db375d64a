import { existsSync } from 'node:fs';
import { runIntent } from './approvals/intent-cli.ts';
import { auditCommand } from './cli/audit.ts';
import { EXIT, UsageError, type Command, type CommandIo } from './cli/command.ts';
import { doctorCommand } from './cli/doctor/command.ts';
import { migrateCommand } from './cli/migrate.ts';
import { seedCommand } from './cli/seed.ts';
import { startCommand } from './cli/start.ts';
import { tokenCommand } from './cli/token.ts';
import { NomosError } from './errors.ts';
import { runClassify } from './policy/classify-cli.ts';
import { VERSION } from './version.ts';

const COMMANDS: readonly Command[] = [
  startCommand,
  doctorCommand,
  migrateCommand,
  seedCommand,
  tokenCommand,
  auditCommand,
  {
    name: 'classify',
    summary: 'say what class a command is, and why',
    usage: '',
    run: runClassify,
  },
  {
    name: 'intent',
    summary: 'say whether words approve, confirm or deny',
    usage: '',
    run: runIntent,
  },
  {
    name: 'version',
    summary: 'print the version',
    usage: 'nomos version',
    async run(_argv, io) {
      io.stdout.write(`${VERSION}\n`);
      return EXIT.ok;
    },
  },
];

function help(): string {
  const rows = COMMANDS.map((command) => `  ${command.name.padEnd(10)}${command.summary}`);
  return `nomos ${VERSION}: a Matrix bot that runs a fleet together with its operator\n\n${rows.join('\n')}\n\nnomos COMMAND --help says more. Options come from the environment: docs/configuration.md.\n`;
}

/** Runs one command of the command line and gives its exit code. Errors are told in one clear sentence each. */
export async function main(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    io.stdout.write(help());
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command === undefined) {
    io.stderr.write(`nomos: there is no command "${name}".\n\n${help()}`);
    return EXIT.usage;
  }
  if (command.usage !== '' && rest.includes('--help')) {
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
  if (existsSync('.env')) process.loadEnvFile('.env');
  process.exitCode = await main(process.argv.slice(2), process);
}
