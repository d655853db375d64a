import { parseArgs } from 'node:util';
import { createToken, listTokens, revokeToken, SCOPES } from '../api/tokens.ts';
import { readOperators } from '../config/config.ts';
import type { Database } from '../db/database.ts';
import { EXIT, UsageError, type Command, type CommandIo } from './command.ts';
import { withDatabase } from './connect.ts';

/** `nomos token create|list|revoke`. */
export const tokenCommand: Command = {
  name: 'token',
  usage: `nomos token create NAME [--scopes ${SCOPES.join(',')}] [--operator @ann:example.org] [--json]
nomos token list [--json]
nomos token revoke NAME [--json]

A token is shown once, when it is made. Scopes: read (the default), operate (start, write, stop, cancel, pause), approve (decide),
signals (Alertmanager's webhook and nothing else); none includes another. A token that may operate or approve does so in the name of an operator of NOMOS_OPERATORS, with that
operator's role.`,
  async run(argv, io) {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        scopes: { type: 'string', default: 'read' },
        operator: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
    const [action, name, ...more] = positionals;
    checkAction(action, name, more);
    return withDatabase((database) => act(database, io, { action, name, ...values }));
  },
};

/** What is wrong with the call is said before anything is connected to. */
function checkAction(
  action: string | undefined,
  name: string | undefined,
  more: readonly string[],
): void {
  if (action !== 'create' && action !== 'list' && action !== 'revoke') {
    throw new UsageError(
      `token takes create, list or revoke${action === undefined ? '' : `, not "${action}"`}.`,
    );
  }
  if (action === 'list' ? name !== undefined : more.length > 0) {
    throw new UsageError(`"${more[0] ?? name}" is one argument too many.`);
  }
  if (action !== 'list') named(name);
}

interface TokenArguments {
  action: string | undefined;
  name: string | undefined;
  scopes: string;
  operator?: string | undefined;
  json: boolean;
}

async function act(database: Database, io: CommandIo, args: TokenArguments): Promise<number> {
  switch (args.action) {
    case 'create': {
      const { token, record } = await createToken(
        database,
        {
          name: named(args.name),
          scopes: args.scopes.split(',').map((scope) => scope.trim()),
          operator: args.operator,
        },
        // Only a token that acts for somebody needs to know who there is.
        args.operator === undefined ? undefined : readOperators(process.env),
      );
      if (args.json) io.stdout.write(`${JSON.stringify({ ...record, token })}\n`);
      else io.stdout.write(`${token}\n`);
      io.stderr.write(
        `Token "${record.name}" (${record.scopes.join(', ')}). It is shown only now; keep it safe.\n`,
      );
      return EXIT.ok;
    }
    case 'list': {
      const tokens = await listTokens(database);
      if (args.json) io.stdout.write(`${JSON.stringify(tokens)}\n`);
      else if (tokens.length === 0) io.stdout.write('No tokens.\n');
      for (const token of args.json ? [] : tokens) {
        const by = token.operator === null ? '' : ` as ${token.operator}`;
        const state = token.revokedAt === null ? '' : ' (revoked)';
        const used =
          token.lastUsedAt === null ? 'never used' : `last used ${token.lastUsedAt.toISOString()}`;
        io.stdout.write(`${token.name}${state}: ${token.scopes.join(', ')}${by}, ${used}\n`);
      }
      return EXIT.ok;
    }
    case 'revoke':
      await revokeToken(database, named(args.name));
      if (args.json) io.stdout.write(`${JSON.stringify({ revoked: args.name })}\n`);
      else io.stdout.write(`Revoked "${args.name}".\n`);
      return EXIT.ok;
    default:
      throw new UsageError('token takes create, list or revoke.');
  }
}

function named(name: string | undefined): string {
  if (name === undefined) throw new UsageError('a token needs a name: nomos token create NAME');
  return name;
}
