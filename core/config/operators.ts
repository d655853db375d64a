import { asId, type UserId } from '../ids.ts';
import { Operators, ROLES, type Operator, type Role } from '../operators.ts';
import type { Problems, Settings } from './settings.ts';
import { list } from './values.ts';

const USER_ID = /^@[^:\s]+:[^\s]+$/;

/** The operators of `NOMOS_OPERATORS`. Nobody at all, and viewers alone, are problems: an empty list must not mean everybody. */
export function operators(settings: Settings, problems: Problems): Operators {
  const entries = list(settings.NOMOS_OPERATORS) ?? [];
  if (entries.length === 0) {
    problems.add(
      'NOMOS_OPERATORS',
      'names nobody: without an operator nobody could direct or approve anything',
    );
  }
  const seen = new Map<string, Operator>();
  for (const entry of entries) {
    const at = entry.lastIndexOf('=');
    const userId = (at < 0 ? entry : entry.slice(0, at)).trim();
    const role = at < 0 ? undefined : entry.slice(at + 1).trim();
    if (!USER_ID.test(userId)) {
      problems.add('NOMOS_OPERATORS', `"${userId}" is no Matrix id (like @ann:example.org)`);
    } else if (role === undefined || !(ROLES as readonly string[]).includes(role)) {
      problems.add(
        'NOMOS_OPERATORS',
        `${userId} has ${role === undefined ? 'no role' : `the role "${role}"`}; allowed: ${ROLES.join(', ')}`,
      );
    } else if (seen.has(userId)) {
      problems.add('NOMOS_OPERATORS', `${userId} stands there twice`);
    } else {
      seen.set(userId, { userId: asId<UserId>(userId), role: role as Role });
    }
  }
  const all = [...seen.values()];
  if (all.length > 0 && !all.some((operator) => operator.role !== 'viewer')) {
    problems.add('NOMOS_OPERATORS', 'has viewers only: nobody could approve anything');
  }
  return new Operators(all);
}
