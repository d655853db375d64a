import { z } from 'zod';
import { coveredSteps } from '../approvals/plan.ts';
import { waitingApprovals } from '../approvals/waiting.ts';
import { formatDuration } from '../text/duration.ts';
import { defineTool } from './tool.ts';

/** What waits for the operator's decision in this task. */
export const listPendingApprovalsTool = defineTool({
  name: 'list_pending_approvals',
  description:
    'The commands, and the plan, of this task that wait for the operator, with risk and time left. Look here before you propose a command again.',
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
    const plan = waiting.find(({ kind }) => kind === 'plan');
    return {
      ok: true,
      value: {
        count: approvals.length + (plan === undefined ? 0 : 1),
        approvals,
        ...(plan === undefined
          ? {}
          : {
              plan: {
                approval_id: plan.shortId,
                steps: coveredSteps(plan).map(({ seq, title }) => `${seq}. ${title}`),
                decided_by: 'a tap or a word',
                expires_in: formatDuration(plan.expiresAt.getTime() - now),
              },
            }),
      },
    };
  },
});
