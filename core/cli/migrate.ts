import { parseArgs } from 'node:util';
import { migrate } from '../../prisma/migrate.ts';
import { readDatabaseUrl } from '../config/config.ts';
import { EXIT, type Command } from './command.ts';

/** `nomos migrate`. */
export const migrateCommand: Command = {
  name: 'migrate',
  usage:
    'nomos migrate [--json]\n\nApplies the missing migrations to DATABASE_URL. Safe to run at any time.',
  async run(argv, io) {
    const { values } = parseArgs({ args: argv, options: { json: { type: 'boolean' } } });
    const applied = await migrate(readDatabaseUrl(process.env));
    if (values.json === true) io.stdout.write(`${JSON.stringify({ applied })}\n`);
    else if (applied.length === 0) io.stdout.write('Nothing to do: the database is up to date.\n');
    else io.stdout.write(`Applied: ${applied.join(', ')}\n`);
    return EXIT.ok;
  },
};
