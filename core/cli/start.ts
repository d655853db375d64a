import { parseArgs } from 'node:util';
import { readConfig } from '../config/config.ts';
import type { ProgramRole } from '../program.ts';
import { EXIT, UsageError, type Command } from './command.ts';

/** `nomos start`. */
export const startCommand: Command = {
  name: 'start',
  usage: `nomos start [--role bot,jobs,api]

Runs all roles in one process, or only those that are named. Ends on SIGTERM or SIGINT; commands that run on a target are
left to run and taken up again at the next start.`,
  async run(argv, io) {
    const { values } = parseArgs({ args: argv, options: { role: { type: 'string' } } });
    // The whole program is loaded only here: the other commands need a small part of it.
    const { PROGRAM_ROLES, startProgram } = await import('../program.ts');
    const roles = readRoles(values.role, PROGRAM_ROLES);
    // Listened for from here on: a signal that comes during the start ends it in good order too, once it can be ended.
    const asked = signalled();
    const program = await startProgram(readConfig(process.env), roles);
    io.stderr.write(`${program.describe()}\n`);
    const reason = await Promise.race([asked, program.failed]);
    await program.stop();
    if (reason instanceof Error) throw reason;
    return EXIT.ok;
  },
};

function readRoles(
  given: string | undefined,
  allowed: readonly ProgramRole[],
): ReadonlySet<ProgramRole> {
  const names = given === undefined ? [...allowed] : given.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !(allowed as readonly string[]).includes(name));
  if (unknown.length > 0) {
    throw new UsageError(
      `--role "${unknown.join(',')}" is not known; allowed: ${allowed.join(', ')}.`,
    );
  }
  return new Set(names as ProgramRole[]);
}

function signalled(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => resolve(signal));
  });
}
