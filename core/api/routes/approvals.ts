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
import { ApprovalStatus } from '../../db/rows.ts';
import { NotFoundError } from '../../errors.ts';
import { previewShape, readPreview } from '../../executions/preview.ts';
import { readScripts, scriptFiles } from '../../executions/scripts.ts';
import { blastShape } from '../../graph/blast-radius.ts';
import type { ApprovalId } from '../../ids.ts';
import { RISKS } from '../../policy/risk.ts';
import { act } from '../actor.ts';
import { idOut, plainText, rowId, stored, words } from '../fields.ts';
import { ApiError } from '../problem.ts';
import { changeRoute, lookRoute, type Route } from '../route.ts';

const byId = z.strictObject({ id: rowId<ApprovalId>('approval') });
const approval = z.object({
  id: idOut,
  shortId: z.string(),
  kind: z.enum(['execution', 'plan']),
  status: z.enum(ApprovalStatus),
  sessionId: idOut.nullable(),
  risk: z.enum(RISKS),
  needsTyped: z.boolean().describe('Whether it takes the typed confirmation.'),
  needsRole: z.string(),
  needsPeople: z.int(),
  agreed: z.array(z.string()).describe('Who has agreed so far, where several must.'),
  expiresAt: z.date(),
  createdAt: z.date(),
  decidedBy: z.string().nullable(),
  decidedAt: z.date().nullable(),
  decidedMeans: z.string().nullable(),
  reason: z.string().nullable().describe('Why it was denied or cancelled.'),
  plan: z.array(z.object({ seq: z.int(), title: z.string(), detail: z.string().nullable() })),
  executions: z.array(
    z.object({
      id: idOut,
      shortId: z.string(),
      target: z.string(),
      purpose: z.string(),
      command: z.string(),
      reasons: stored(z.array(z.string())),
      blastRadius: stored(blastShape),
      preview: previewShape
        .nullable()
        .describe('What a dry run said, by which it is decided; its execution has all its output.'),
      scripts: scriptFiles.describe(
        'The scripts that it runs, which must hold the same at its start, by their SHA-256.',
      ),
    }),
  ),
});

const decided = z.union([
  z.object({ result: z.literal('approved'), executions: z.array(idOut) }),
  z.object({ result: z.literal('denied') }),
  z.object({ result: z.literal('voted'), have: z.int(), need: z.int() }),
]);

/** Approvals: those that wait, one, and the decision (A7). It goes through the same `decide` as a tap in a room. */
export const approvalRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/approvals',
    tag: 'approvals',
    summary: 'What waits for a decision, the oldest first',
    answer: z.object({ approvals: z.array(approval) }),
    async handle({ deps }) {
      return { approvals: (await waitingApprovals(deps.database.read)).map(shown) };
    },
  }),
  lookRoute({
    path: '/api/v1/approvals/:id',
    tag: 'approvals',
    summary: 'One approval, also one that was decided',
    params: byId,
    answer: approval,
    async handle({ deps, params: { id } }) {
      const row = await deps.database.read.approval.findUnique({
        where: { id },
        include: APPROVAL_PARTS,
      });
      if (row === null) throw new NotFoundError('approval', id);
      return shown(row);
    },
  }),
  changeRoute({
    method: 'post',
    path: '/api/v1/approvals/:id/decision',
    tag: 'approvals',
    summary: 'Approve or deny',
    notes:
      'The first decision counts, whether it comes by a tap, words or the API. What is destructive takes the typed confirmation, "I confirm".',
    scope: 'approve',
    params: byId,
    body: z.strictObject({
      decision: z.enum(['approve', 'deny']),
      confirmation: plainText(500)
        .optional()
        .describe('The typed confirmation, for what is destructive: "I confirm".'),
      reason: words(2_000).optional().describe('Why it is denied; the agent reads it.'),
    }),
    answer: decided,
    problems: [
      'already_decided',
      'approval_expired',
      'confirmation_needed',
      'approval_not_shown',
      'decision_not_allowed',
    ],
    async handle({ deps, params: { id: approvalId }, body, actor }) {
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
      return answer(result);
    },
  }),
];

function shown(row: WaitingApproval): z.input<typeof approval> {
  return {
    id: row.id,
    shortId: row.shortId,
    kind: row.kind,
    status: row.status,
    sessionId: row.sessionId,
    risk: row.risk,
    needsTyped: row.needsTyped,
    needsRole: row.needsRole,
    needsPeople: row.needsPeople,
    agreed: row.votes.map(({ operator }) => operator),
    expiresAt: row.expiresAt,
    createdAt: row.createdAt,
    decidedBy: row.decidedBy,
    decidedAt: row.decidedAt,
    decidedMeans: row.decidedMeans,
    reason: row.reason,
    plan: coveredSteps(row),
    executions: row.executions.map((execution) => ({
      id: execution.id,
      shortId: execution.shortId,
      target: execution.targetSlug,
      purpose: execution.purpose,
      command: execution.command,
      reasons: execution.reasons,
      blastRadius: execution.blast,
      preview: readPreview(execution.preview),
      scripts: readScripts(execution.scripts)?.files ?? [],
    })),
  };
}

/** Words that confirm, and name nothing else than what is to be decided (A3, A6). */
function confirms(said: string, waiting: WaitingApproval, languages: readonly Language[]): boolean {
  const intent = readIntent(said, languages);
  return intent.confirm && whichFit(intent.reference, [wordsOfCard(waiting)]).length > 0;
}

function answer(result: DecisionResult): z.input<typeof decided> {
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
