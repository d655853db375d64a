import { z } from 'zod';
import { ExecutionStatus, PlanStepStatus, SessionOutcome, SessionStatus } from '../../db/rows.ts';
import { idOut, stored } from '../fields.ts';

/** A task as the list shows it. */
export const listing = z.object({
  id: idOut,
  shortId: z.string(),
  goal: z.string().nullable(),
  title: z.string().nullable(),
  status: z.enum(SessionStatus),
  outcome: z.enum(SessionOutcome).nullable(),
  summary: z.string().nullable(),
  createdBy: z.string(),
  createdAt: z.date(),
  lastActivityAt: z.date(),
  endedAt: z.date().nullable(),
  pendingApprovals: z.int(),
});
/** A step of a plan. */
export const planStep = z.object({
  seq: z.int(),
  generation: z.int(),
  title: z.string(),
  detail: z.string().nullable(),
  status: z.enum(PlanStepStatus),
  note: z.string().nullable(),
});
/** A question of the agent. */
export const question = z.object({
  id: idOut,
  prompt: z.string(),
  why: z.string().nullable(),
  options: stored(z.array(z.string())),
  status: z.enum(['open', 'answered', 'cancelled']),
  answer: z.string().nullable(),
  answeredBy: z.string().nullable(),
});
const message = z.object({
  seq: z.bigint(),
  role: z.enum(['operator', 'note', 'assistant', 'tool']).describe('`note` is Nomos to the agent.'),
  sender: z.string().nullable(),
  text: z.string(),
  toolCalls: z.unknown().describe('The calls that an answer of the agent made; null for none.'),
  toolCallId: z.string().nullable(),
  redacted: z.boolean(),
  at: z.date(),
});
/** A task with its plan, questions and messages. */
export const whole = listing.extend({
  roomId: z.string().nullable(),
  pausedReason: z.string().nullable(),
  plan: z.array(planStep),
  questions: z.array(question),
  messages: z.array(message),
});
/** What a task came to (C6). */
export const digest = z.object({
  shortId: z.string(),
  title: z.string().nullable(),
  status: z.enum(SessionStatus),
  outcome: z.enum(SessionOutcome).nullable(),
  summary: z.string().nullable(),
  byStatus: z.array(z.object({ status: z.enum(ExecutionStatus), count: z.int() })),
  allowed: z.object({
    byClass: z.int(),
    byGrant: z.int(),
    byApproval: z.int(),
    denied: z.int(),
  }),
  entities: z.array(z.string()),
  knowledge: z.array(z.string()).describe('Titles.'),
  durationMs: z.number(),
  passes: z.int(),
  toolCalls: z.int(),
  tokensIn: z.int(),
  tokensOut: z.int(),
  cost: z.number(),
  notes: z.array(z.string()),
});
/** How a task went (K12). */
export const review = z.object({
  shortId: z.string(),
  objective: z.string().nullable(),
  status: z.enum(SessionStatus),
  outcome: z.enum(SessionOutcome).nullable(),
  calls: z.array(
    z.object({
      tool: z.string(),
      count: z.int(),
      failed: z.int(),
      meanMs: z.number().nullable(),
    }),
  ),
  fanOut: z.array(z.object({ tool: z.string(), what: z.string(), count: z.int() })),
  blockers: z.array(z.object({ code: z.string(), count: z.int() })),
  emptyResults: z.int(),
  oversizedResults: z.array(z.object({ tool: z.string(), characters: z.int() })),
  advice: z.array(z.string()),
});
