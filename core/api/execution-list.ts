import type { Reader } from '../db/database.ts';
import type { Execution, ExecutionStatus } from '../db/rows.ts';

/** The columns of a list: without the outputs, which may be large. */
const LISTED = {
  id: true,
  shortId: true,
  sessionId: true,
  targetSlug: true,
  command: true,
  purpose: true,
  risk: true,
  status: true,
  allowedBy: true,
  approvalId: true,
  exitCode: true,
  signal: true,
  errorCode: true,
  error: true,
  createdAt: true,
  startedAt: true,
  endedAt: true,
} as const;

type Listed = Pick<Execution, keyof typeof LISTED>;

/** An execution as the list shows it. */
export type ExecutionListing = Omit<Listed, 'targetSlug'> & { target: string };

/** A page of executions, the newest first. `next` is the `before` of the following page, null at the end. */
export interface ExecutionPage {
  executions: ExecutionListing[];
  next: string | null;
}

/** Lists executions. Ids grow with time and never change, so that each is on exactly one page whatever happens meanwhile. */
export async function listExecutions(
  db: Reader,
  query: {
    status?: ExecutionStatus | undefined;
    session?: string | undefined;
    limit: number;
    before?: string | undefined;
  },
): Promise<ExecutionPage> {
  const rows = await db.execution.findMany({
    where: {
      ...(query.status === undefined ? {} : { status: query.status }),
      ...(query.session === undefined ? {} : { sessionId: query.session }),
      ...(query.before === undefined ? {} : { id: { lt: query.before } }),
    },
    orderBy: { id: 'desc' },
    take: query.limit + 1,
    select: LISTED,
  });
  const page = rows.slice(0, query.limit);
  return {
    executions: page.map(listing),
    next: rows.length > query.limit ? (page.at(-1)?.id ?? null) : null,
  };
}

/** One execution without its outputs, for the list and for its own page. */
export function listing({ targetSlug, ...row }: Listed): ExecutionListing {
  return { ...row, target: targetSlug };
}
