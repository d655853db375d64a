import type { Unit } from '../../core/db/database.ts';
import type { UserId } from '../../core/ids.ts';
import { roleCovers, type Operators, type Role } from '../../core/operators.ts';
import type { View } from '../cards/view.ts';

/** What drawing a card works with: one transaction, one moment. */
export interface DrawContext {
  readonly unit: Unit;
  readonly view: View;
  readonly operators: Operators;
  /** Answers grow in the room while they are written (C13). */
  readonly streaming: boolean;
  /** Hides secrets in what commands and the agent wrote (X9). */
  readonly mask: (text: string) => string;
}

/**
 * Whom a card calls that waits for a decision (C10): who opened the task, if they may decide it; else, or where several
 * people are needed, everyone who may.
 */
export function decidersToCall(
  operators: Operators,
  createdBy: string | null,
  needs: { role: Role; people: number },
): UserId[] {
  const able = operators.all.filter((operator) => roleCovers(operator.role, needs.role));
  const own = able.find((operator) => operator.userId === createdBy);
  return own !== undefined && needs.people < 2 ? [own.userId] : able.map(({ userId }) => userId);
}

/** Whom to call about a task: who opened it, else every operator. */
export function askersToCall(operators: Operators, createdBy: string | null): UserId[] {
  const own = createdBy === null ? undefined : operators.find(createdBy);
  return own === undefined ? operators.all.map(({ userId }) => userId) : [own.userId];
}
