/**
 * The event log's vocabulary. One name per thing that happened; `refId` is the row it happened to, and readers look the
 * row up: an event is a reason to look, not a copy of the state.
 */
export const EVENT_TYPES = [
  // tasks
  'session.created', // refId: session
  'session.changed', // refId: session; data: { what: 'status' | 'goal' | 'outcome' | 'paused' | 'archived' | 'deleted' … }
  'session.ended', // refId: session; data: { outcome }
  'turn.created', // refId: turn
  'message.received', // refId: message; an operator's message or a note was stored
  'message.taken_in', // refId: message; the running pass has read it
  // passes
  'pass.queued', // refId: pass
  'pass.started',
  'pass.answering', // refId: pass; more of the answer's text is there
  'pass.stop_requested',
  'pass.ended', // refId: pass; data: { state }
  'tool.started', // refId: tool call; data: { passId }
  'tool.ended',
  // plan and questions
  'plan.changed', // refId: session
  'question.asked', // refId: question
  'question.answered',
  'question.cancelled',
  // executions and approvals
  'execution.changed', // refId: execution; data: { from, to }
  'execution.output', // refId: execution; the tail moved on
  'execution.cancel_requested',
  'approval.requested', // refId: approval
  'approval.voted', // refId: approval; one of several people needed has agreed
  'approval.decided', // refId: approval; data: { status }
  'approval.hint', // refId: approval; a tap that is not enough; data: { operator }
  'approval.reminder', // refId: approval or question
  'grant.opened', // refId: grant
  'grant.closed',
  // checks and signals
  'check.changed', // refId: check; its status is another than before
  'signal.changed', // refId: signal; raised, moved on, or people are called for it again
  // the rest
  'error.raised', // refId: session or null; data: { code, message, hint, fault, retry, about? }
  'error.settled', // data: { about }: what is named so is over; or { event, by }: an operator dealt with that error
  'settings.changed', // refId: the key; data: { paused, by }
  'token.revoked', // refId: API token
  'graph.changed', // refId: entity
  'knowledge.changed', // refId: knowledge
  'runbook.changed', // refId: runbook; it was offered, decided on, or written anew
] as const;

/** One of the names above. */
export type EventType = (typeof EVENT_TYPES)[number];

/** A row of the event log, as readers get it. Ids grow in the order of commits. */
export interface LoggedEvent {
  id: bigint;
  at: Date;
  type: EventType;
  sessionId: string | null;
  refId: string | null;
  data: Record<string, unknown>;
}
