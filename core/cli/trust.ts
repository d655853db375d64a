import { parseArgs } from 'node:util';
import { readOperators } from '../config/config.ts';
import { asId, type UserId } from '../ids.ts';
import { trustReplacedKey } from '../signing-keys.ts';
import { EXIT, UsageError, type Command } from './command.ts';
import { withDatabase } from './connect.ts';

/** `nomos trust`. */
export const trustCommand: Command = {
  name: 'trust',
  usage: `nomos trust @ann:example.org [--json]

Vouches for the signing keys that an operator has now, after they were replaced: the operator reset their encryption, or somebody
else did. Until then their messages decide nothing where decisions are strict. Ask the operator first, by another way than Matrix.
Prints the new key; in Element it is the account's "session verification" master key.`,
  async run(argv, io) {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { json: { type: 'boolean', default: false } },
    });
    const [name, ...more] = positionals;
    if (name === undefined || more.length > 0) {
      throw new UsageError('trust takes one operator: nomos trust @ann:example.org');
    }
    if (readOperators(process.env).find(name) === undefined) {
      throw new UsageError(`"${name}" is no operator; NOMOS_OPERATORS lists them.`);
    }
    const userId = asId<UserId>(name);
    const key = await withDatabase((database) =>
      database.write((unit) => trustReplacedKey(unit, userId, 'command line')),
    );
    if (values.json) io.stdout.write(`${JSON.stringify({ userId, key })}\n`);
    else io.stdout.write(`The signing key ${key} of ${userId} is trusted.\n`);
    return EXIT.ok;
  },
};
