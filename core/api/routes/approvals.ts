import type Router from '@koa/router';
import { z } from 'zod';
import { decide, type DecisionResult } from '../../approvals/decide.ts';
import { coveredSteps } from '../../approvals/plan.ts';
import {
  APPROVAL_PARTS,
  waitingApprovals,
  wordsOfCard,
  type WaitingApproval,
} from '../../approvals/waiting.ts';
import { whichFit } from '../../approvals/words/card-match.ts';
import { readIntent, type Language } from '../../approvals/words/intent.ts';
import { readPreview } from '../../executions/preview.ts';
import { NotFoundError } from '../../errors.ts';
import type { ApprovalId } from '../../ids.ts';
import { act, actorOf } from '../actor.ts';
import type { ApiDeps } from '../app.ts';
import { needsScope } from '../auth.ts';
import { readBody, readId, readQuery } from '../body.ts';
import { plainText, words } from '../fields.ts';
import { ApiError } from '../problem.ts';

const noQuery = z.strictObject({});
const decisionBody = z.strictObject({
  decision: z.enum(['approve', 'deny']),
  /** The typed confirmation, for what is destructive: "I confirm". */
  confirmation: plainText(500).optional(),
  /** Why it is denied; the agent reads it. */
  reason: words(2_000).optional(),
});

/** Approvals: those that wait, and the decision (A7). It goes through the same `decide` as a tap in a room. */
export function approvalRoutes(router: Router, deps: ApiDeps): void {
  router.get('/api/v1/approvals', needsScope('read'), async (ctx) => {
    readQuery(ctx, noQuery);
    const waiting = await waitingApprovals(deps.database.read);
    ctx.body = {
      approvals: waiting.map((approval) => ({
        id: approval.id,
        shortId: approval.shortId,
        kind: approval.kind,
        sessionId: approval.sessionId,
        risk: approval.risk,
        needsTyped: approval.needsTyped,
        needsRole: approval.needsRole,
        needsPeople: approval.needsPeople,
        agreed: approval.votes.map(({ operator }) => operator),
        expiresAt: approval.expiresAt,
        createdAt: approval.createdAt,
        plan: coveredSteps(approval),
        executions: approval.executions.map((execution) => ({
          id: execution.id,
          shortId: execution.shortId,
          target: execution.targetSlug,
          purpose: execution.purpose,
          command: execution.command,
          reasons: execution.reasons,
          blastRadius: execution.blast,
          // What a dry run said, by which it is decided (A19); its execution has the whole output.
          preview: readPreview(execution.preview),
        })),
      })),
    };
  });

  router.post('/api/v1/approvals/:id/decision', needsScope('approve'), async (ctx) => {
    const approvalId = readId<ApprovalId>(ctx.params['id'], 'approval');
    const body = await readBody(ctx, decisionBody);
    const actor = actorOf(ctx, deps.operators);
    const known = await deps.database.read.approval.findUnique({
      where: { id: approvalId },
      include: APPROVAL_PARTS,
    });
    if (known === null) throw new NotFoundError('approval', approvalId);
    const said = body.confirmation;
    const result = await act(
      deps.database,
      actor,
      { action: 'approval.decision', subject: approvalId },
      (unit) =>
        decide(unit, {
          approvalId,
          verdict: body.decision,
          operator: actor.operator,
          operators: deps.operators,
          means: 'api',
          eventId: `token:${actor.token}`,
          words: said,
          reason: body.reason,
          typedConfirmation: said !== undefined && confirms(said, known, deps.languages),
        }),
    );
    ctx.body = answer(result);
  });
}

/** Words that confirm, and name nothing else than what is to be decided (A3, A6). */
function confirms(
  said: string,
  approval: WaitingApproval,
  languages: readonly Language[],
): boolean {
  const intent = readIntent(said, languages);
  return intent.confirm && whichFit(intent.reference, [wordsOfCard(approval)]).length > 0;
}

function answer(result: DecisionResult): Record<string, unknown> {
  switch (result.kind) {
    case 'approved':
      return { result: 'approved', executions: result.executions };
    case 'denied':
      return { result: 'denied' };
    case 'voted':
      return { result: 'voted', have: result.have, need: result.need };
    case 'already':
      throw new ApiError(
        'already_decided',
        `It was ${result.status} already${result.by === null ? '' : ` by ${result.by}`}${result.at === null ? '' : ` at ${result.at.toISOString()}`}.`,
        { fields: { status: result.status, by: result.by, at: result.at } },
      );
    case 'expired':
      throw new ApiError('approval_expired', 'It expired before a decision; nothing ran.');
    case 'needs_typed':
      throw new ApiError(
        'confirmation_needed',
        'It is destructive, so it needs a typed confirmation.',
        {
          hint: 'Send {"decision":"approve","confirmation":"I confirm"}.',
        },
      );
    case 'not_shown':
      throw new ApiError(
        'approval_not_shown',
        'Not all that it covers has been shown yet, so nothing was decided.',
      );
    case 'not_allowed':
      throw new ApiError('decision_not_allowed', result.why);
  }
}
