import { parseArgs } from 'node:util';
import { describeLoad, seed } from '../../seeds/seed.ts';
import { readConfig } from '../config/config.ts';
import { Database } from '../db/database.ts';
import { EXIT, type Command } from './command.ts';

/** `nomos seed`. */
export const seedCommand: Command = {
  name: 'seed',
  usage:
    'nomos seed [--json]\n\nLoads NOMOS_ONTOLOGY, NOMOS_INVENTORY and NOMOS_RUNBOOKS into the database. Loading twice changes nothing;\nwhat the agent learned and what was changed here is kept and reported; what vanished from the files is\nreported, not deleted.',
  async run(argv, io) {
    const { values } = parseArgs({ args: argv, options: { json: { type: 'boolean' } } });
    const config = readConfig(process.env);
    const database = await Database.connect(config.databaseUrl);
    try {
      const report = await seed(database, config.files);
      io.stdout.write(
        values.json === true ? `${JSON.stringify(report)}\n` : `${describeLoad(report)}\n`,
      );
    } finally {
      await database.close();
    }
    return EXIT.ok;
  },
};
