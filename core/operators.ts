import type { UserId } from './ids.ts';

/** What an operator may do: a viewer reads and asks, an approver decides, an admin also decides what a rule keeps for admins. */
export const ROLES = ['viewer', 'approver', 'admin'] as const;
/** One of the roles above. */
export type Role = (typeof ROLES)[number];

/** A person who may direct the bot. */
export interface Operator {
  userId: UserId;
  role: Role;
}

/** Whether someone with role `has` may do what needs `needs`. */
export function roleCovers(has: Role, needs: Role): boolean {
  return ROLES.indexOf(has) >= ROLES.indexOf(needs);
}

/** The operators of the configuration. Ids are compared as they are: Matrix ids are case-sensitive. */
export class Operators {
  readonly all: readonly Operator[];
  readonly #byId: ReadonlyMap<string, Operator>;

  constructor(all: readonly Operator[]) {
    this.all = all;
    this.#byId = new Map(all.map((operator) => [operator.userId, operator]));
  }

  /** The operator with this id, or undefined for anyone else. */
  find(userId: string): Operator | undefined {
    return this.#byId.get(userId);
  }

  /** Whether somebody is an operator whose role covers `needs`. */
  covers(userId: string, needs: Role): boolean {
    const role = this.roleOf(userId);
    return role !== undefined && roleCovers(role, needs);
  }

  /** The operator's role, or undefined for anyone else. */
  roleOf(userId: string): Role | undefined {
    return this.#byId.get(userId)?.role;
  }
}
