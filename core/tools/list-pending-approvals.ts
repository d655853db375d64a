import { z } from 'zod';
import { waitingApprovals } from '../approvals/waiting.ts';
import { formatDuration } from '../text/duration.ts';
import { defineTool } from './tool.ts';

/** What waits for the operator's decision in this task. */
export const listPendingApprovalsTool = defineTool({
  name: 'list_pending_approvals',
  description:
    'The commands of this task that wait for the operator, with risk and time left. Look here before you propose a command again.',
  kind: 'read',
  input: z.strictObject({}),
  async handler({ db, sessionId }) {
    const waiting = await waitingApprovals(db, { sessionId });
    const now = Date.now();
    const approvals = waiting.flatMap((approval) =>
      approval.executions.map((execution) => ({
        execution_id: execution.shortId,
        target: execution.targetSlug,
        purpose: execution.purpose,
        command: execution.command,
        risk: execution.risk,
        decided_by: approval.needsTyped ? 'a typed "I confirm"' : 'a tap or a word',
        expires_in: formatDuration(approval.expiresAt.getTime() - now),
      })),
    );
    return { ok: true, value: { count: approvals.length, approvals } };
  },
});
