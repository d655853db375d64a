import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database } from '../db/database.ts';
import { NomosError, NotFoundError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Operators } from '../operators.ts';

/**
 * What a token may do: read everything, operate (start, message, stop …), approve, or raise signals and nothing else (a webhook's).
 * Each includes nothing else.
 */
export const SCOPES = ['read', 'operate', 'approve', 'signals'] as const;
/** One of the scopes. */
export type Scope = (typeof SCOPES)[number];

const PREFIX = 'nomos_';
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A token as it is known here: never the token itself, of which only a hash is kept (H3). */
export interface TokenRecord {
  id: string;
  name: string;
  scopes: Scope[];
  /** The operator in whose name it acts; one that may only read needs none. */
  operator: string | null;
  createdAt: Date;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

/**
 * Makes a token. The text is returned once and cannot be shown again. A token that may operate or approve does so in the name
 * of an operator (T12), whose role holds as it does in a room (A15). Throws `token_invalid` for a bad name, scope or operator.
 */
export async function createToken(
  database: Database,
  args: { name: string; scopes: readonly string[]; operator?: string | undefined },
  operators?: Operators,
): Promise<{ token: string; record: TokenRecord }> {
  const scopes = SCOPES.filter((scope) => args.scopes.includes(scope));
  const unknown = args.scopes.filter((scope) => !(SCOPES as readonly string[]).includes(scope));
  const fault = tokenFault(args, scopes, unknown, operators);
  if (fault !== undefined) throw new NomosError('token_invalid', 'operator', fault);
  const token = PREFIX + randomBytes(32).toString('base64url');
  const row = await database.write(async (unit) => {
    // Two at once must not both find the name free.
    await unit.db.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('nomos_api_tokens'))`;
    const taken = await unit.db.apiToken.findFirst({ where: { name: args.name, revokedAt: null } });
    if (taken !== null) {
      throw new NomosError(
        'token_invalid',
        'operator',
        `There is a token named "${args.name}" already.`,
        {
          hint: 'Choose another name, or revoke it first.',
        },
      );
    }
    unit.audit({
      actor: 'system',
      action: 'token.created',
      subject: args.name,
      data: { scopes, operator: args.operator ?? null },
    });
    return unit.db.apiToken.create({
      data: {
        id: newId(),
        name: args.name,
        hash: hashToken(token),
        scopes,
        operator: args.operator ?? null,
      },
    });
  });
  return { token, record: toRecord(row) };
}

function tokenFault(
  args: { name: string; operator?: string | undefined },
  scopes: readonly Scope[],
  unknown: readonly string[],
  operators: Operators | undefined,
): string | undefined {
  if (!NAME.test(args.name)) {
    return `"${args.name}" is no name for a token; allowed: letters, digits, ".", "_" and "-", at most 64.`;
  }
  if (unknown.length > 0 || scopes.length === 0) {
    return `${unknown.length > 0 ? `unknown scope "${unknown.join('", "')}"` : 'no scope given'}; allowed: ${SCOPES.join(', ')}.`;
  }
  const acts = scopes.includes('approve') || scopes.includes('operate');
  if (acts && args.operator === undefined) {
    return 'a token that may operate or approve needs the operator in whose name it does so (--operator @ann:example.org).';
  }
  if (
    args.operator !== undefined &&
    operators !== undefined &&
    operators.find(args.operator) === undefined
  ) {
    return `${args.operator} is not among the operators; allowed: ${operators.all.map((known) => known.userId).join(', ')}.`;
  }
  return undefined;
}

/** Every token, newest first. */
export async function listTokens(database: Database): Promise<TokenRecord[]> {
  const rows = await database.read.apiToken.findMany({ orderBy: { createdAt: 'desc' } });
  return rows.map(toRecord);
}

/** Ends a token by its name, at once. Throws `not_found`. */
export async function revokeToken(database: Database, name: string): Promise<void> {
  await database.write(async (unit) => {
    const living = await unit.db.apiToken.updateManyAndReturn({
      where: { name, revokedAt: null },
      data: { revokedAt: new Date() },
      select: { id: true },
    });
    if (living.length === 0) throw new NotFoundError('token', name);
    for (const { id } of living) unit.emit({ type: 'token.revoked', refId: id });
    unit.audit({ actor: 'system', action: 'token.revoked', subject: name });
  });
}

/** The record of a token that was presented, or null: unknown, revoked, or no token at all. */
export async function findToken(
  database: Database,
  presented: string,
): Promise<TokenRecord | null> {
  const hash = hashToken(presented);
  const row = await database.read.apiToken.findUnique({ where: { hash } });
  if (row === null || row.revokedAt !== null) return null;
  // The look-up by hash tells nothing of the token by its time; the last comparison does not either.
  if (!timingSafeEqual(Buffer.from(row.hash), Buffer.from(hash))) return null;
  return toRecord(row);
}

/** Whether a token that was let in still is one. */
export async function isTokenAlive(database: Database, id: string): Promise<boolean> {
  return (await database.read.apiToken.count({ where: { id, revokedAt: null } })) > 0;
}

/** Remembers that a token was used. */
export async function touchToken(database: Database, id: string): Promise<void> {
  await database.read.apiToken.update({ where: { id }, data: { lastUsedAt: new Date() } });
}

function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function toRecord(row: {
  id: string;
  name: string;
  scopes: string[];
  operator: string | null;
  createdAt: Date;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}): TokenRecord {
  return {
    id: row.id,
    name: row.name,
    scopes: SCOPES.filter((scope) => row.scopes.includes(scope)),
    operator: row.operator,
    createdAt: row.createdAt,
    lastUsedAt: row.lastUsedAt,
    revokedAt: row.revokedAt,
  };
}
