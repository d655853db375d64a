import { NomosError } from '../errors.ts';
import type { PassScope } from './scope.ts';

/** How many tokens, in and out together, may be used before work stops (L9). Undefined: no limit. */
export interface Budgets {
  /** Of one task, over all its passes. */
  readonly taskTokens: number | undefined;
  /** Of all tasks in the last 24 hours, by the database's clock. */
  readonly dayTokens: number | undefined;
}

/** A limit on tokens is reached: no model is asked until it is raised, or, for the day's, until time has passed. */
export class TokenLimitReached extends NomosError {
  constructor(of: 'task' | 'day', used: number, limit: number) {
    const whose = of === 'task' ? 'This task has' : 'All tasks together have in the last 24 hours';
    const option = of === 'task' ? 'NOMOS_TASK_TOKENS' : 'NOMOS_DAY_TOKENS';
    super(
      'token_limit',
      'operator',
      `${whose} used ${used.toLocaleString('en')} tokens; the limit is ${limit.toLocaleString('en')}.`,
      {
        hint: `Nothing was lost. Raise ${option}${of === 'day' ? ', or wait' : ', or ask for the rest as a new task'}; then 🔁 or a message goes on from here.`,
        fields: { of, used, limit },
      },
    );
  }
}

/** Throws `TokenLimitReached` when the task or the day has used up its tokens. Asked before each model call. */
export async function checkBudgets(scope: PassScope): Promise<void> {
  const { taskTokens, dayTokens } = scope.deps.budgets ?? {};
  if (taskTokens === undefined && dayTokens === undefined) return;
  const [used] = await scope.deps.database.read.$queryRaw<[{ task: number; day: number }]>`
    SELECT
      coalesce(sum(tokens_in + tokens_out) FILTER (WHERE session_id = ${scope.sessionId}::uuid), 0)::float8 AS task,
      coalesce(sum(tokens_in + tokens_out)
        FILTER (WHERE coalesce(ended_at, clock_timestamp()) > clock_timestamp() - interval '24 hours'), 0)::float8 AS day
    FROM passes`;
  if (taskTokens !== undefined && used.task >= taskTokens)
    throw new TokenLimitReached('task', used.task, taskTokens);
  if (dayTokens !== undefined && used.day >= dayTokens)
    throw new TokenLimitReached('day', used.day, dayTokens);
}
