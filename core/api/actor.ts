import type { Context } from 'koa';
import type { Database, Unit } from '../db/database.ts';
import { roleCovers, type Operator, type Operators, type Role } from '../operators.ts';
import { ApiError } from './problem.ts';
import type { TokenRecord } from './tokens.ts';

/** Who does what a request asks for. */
export interface Actor {
  operator: Operator;
  /** The name of the token: kept in the audit log beside the operator. */
  token: string;
}

/**
 * The operator in whose name the request's token acts (T12, A15). Throws `role_missing` when that is nobody (any more), or
 * when their role does not cover `needs`.
 */
export function actorOf(ctx: Context, operators: Operators, needs: Role = 'viewer'): Actor {
  const token: TokenRecord = ctx.state['token'];
  const operator = operatorOf(token, operators);
  if (!roleCovers(operator.role, needs)) {
    throw new ApiError(
      'role_missing',
      `${operator.userId} is ${operator.role === 'viewer' ? 'a viewer' : `an ${operator.role}`}; this needs ${needs === 'viewer' ? 'a viewer' : `an ${needs}`}.`,
    );
  }
  return { operator, token: token.name };
}

/** The operator in whose name a token acts. Throws `role_missing` when that is nobody (any more). */
export function operatorOf(token: TokenRecord, operators: Operators): Operator {
  const operator = token.operator === null ? undefined : operators.find(token.operator);
  if (operator !== undefined) return operator;
  throw new ApiError(
    'role_missing',
    `The token "${token.name}" acts in the name of ${token.operator ?? 'nobody'}, who is not an operator.`,
    { hint: 'Make one with --operator and an operator of NOMOS_OPERATORS.' },
  );
}

/**
 * Does a change that a request asks for, in one transaction with the audit entry that names the token; the domain's own entries
 * name the operator.
 */
export async function act<T>(
  database: Database,
  actor: Actor,
  entry: { action: string; subject?: string },
  work: (unit: Unit) => Promise<T>,
): Promise<T> {
  return database.write(async (unit) => {
    unit.audit({
      actor: actor.operator.userId,
      action: `api.${entry.action}`,
      subject: entry.subject ?? null,
      data: { token: actor.token },
    });
    return work(unit);
  });
}
