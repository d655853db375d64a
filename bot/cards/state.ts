import type { MatrixEventId, RoomId, UserId } from '../../core/ids.ts';
import type { Risk } from '../../core/policy/risk.ts';

/**
 * What cards are made from: plain values, read from rows by the projector. Cards know no database. Texts are as they
 * were stored; the cards make them safe to show.
 */

/** Words of an execution's life (X8), as stored. */
export type ExecutionStatus =
  | 'requested'
  | 'pending_approval'
  | 'approved'
  | 'queued'
  | 'running'
  | 'completed'
  | 'failed'
  | 'denied'
  | 'revoked'
  | 'expired'
  | 'cancelled'
  | 'unknown';

/** Words of an approval's life, as stored. */
export type ApprovalStatus =
  | 'pending'
  | 'approved'
  | 'denied'
  | 'expired'
  | 'withdrawn'
  | 'cancelled';

/** By what means a decision came, as stored. */
export type DecisionMeans = 'tap' | 'word' | 'confirmation' | 'command' | 'api' | 'plan';

/** The decision that an execution or a plan waits for, or that was made. */
export interface ApprovalState {
  readonly shortId: string;
  readonly status: ApprovalStatus;
  /** True for what is destructive: a tap is not enough (A3). */
  readonly needsTyped: boolean;
  readonly needsRole: 'approver' | 'admin';
  readonly needsPeople: number;
  /** Who has agreed so far, where several people are needed. */
  readonly votes: readonly string[];
  /** Who may still agree, where several people are needed. */
  readonly missing: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** A Matrix user id, or `token:<name>` for the API. */
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
  readonly decidedMeans: DecisionMeans | null;
  readonly reason: string | null;
}

/** What depends on a target at one distance (P8): the names that were kept, and how many there are. */
export interface BlastLevel {
  readonly names: readonly string[];
  readonly count: number;
}

/** What depends on a target (P8), by distance: first what is hit directly, then what is through those, and so on. */
export type BlastState = readonly BlastLevel[];

/** What a dry run said (A19). */
export interface PreviewState {
  readonly command: string;
  readonly exitCode: number;
  readonly tail: string;
  /** There is more than the tail; it is attached as a file. */
  readonly longer: boolean;
}

/** A script that a command runs (A16). */
export interface ScriptState {
  readonly name: string;
  /** The first digits of the SHA-256 of its content, which must be the same at the start; null when it could not be fixed. */
  readonly hash: string | null;
  readonly why: string | null;
}

/** One command on one target. */
export interface ExecutionState {
  readonly shortId: string;
  readonly purpose: string;
  readonly target: string;
  /** Where and as whom exactly, `root@10.0.0.5` or `pct exec 101 on pve-1`; part of what is approved (A16). */
  readonly address: string | null;
  readonly command: string;
  readonly risk: Risk;
  readonly reasons: readonly string[];
  readonly blast: BlastState;
  readonly preview: PreviewState | null;
  readonly scripts: readonly ScriptState[];
  /** Something in the command is not shown, because it is a secret (X9); the approval covers it all the same. */
  readonly masked: boolean;
  readonly status: ExecutionStatus;
  readonly allowedBy: 'class' | 'grant' | 'approval' | null;
  readonly approval: ApprovalState | null;
  readonly createdAt: Date;
  readonly queuedAt: Date | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The newest output of both streams, as it came. */
  readonly tail: string;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly error: string | null;
  readonly cancelRequestedBy: string | null;
}

/** A card elsewhere in the room that a card points to. Without an event id it has not been sent yet: no link. */
export interface CardLink {
  readonly roomId: RoomId | null;
  readonly eventId: MatrixEventId | null;
}

/** Several executions that one call asked for (X13). */
export interface BatchState {
  readonly shortId: string;
  readonly executions: readonly ExecutionState[];
  readonly approval: ApprovalState | null;
}

/** A step of a plan, as stored. */
export interface StepState {
  readonly seq: number;
  readonly generation: number;
  readonly title: string;
  readonly status: 'pending' | 'running' | 'done' | 'failed' | 'skipped' | 'blocked' | 'replaced';
}

/** A plan that waits for approval as a whole (A11): the steps that the approval covers. How they stand is on the task's card. */
export interface PlanApprovalState {
  readonly steps: ReadonlyArray<
    Pick<StepState, 'seq' | 'title'> & { readonly detail: string | null }
  >;
  readonly approval: ApprovalState;
}

/** Status of a task (T6), as stored. */
export type TaskStatus =
  | 'active'
  | 'planning'
  | 'awaiting_approval'
  | 'executing'
  | 'awaiting_input'
  | 'done'
  | 'failed'
  | 'abandoned';

/** Something that waits for a person, with a link to its card. */
export interface WaitingState {
  readonly kind: 'approval' | 'question';
  readonly label: string;
  readonly target: string | null;
  readonly risk: Risk | null;
  readonly until: Date | null;
  readonly link: CardLink;
}

/** A command that runs, with a link to its card. */
export interface RunningState {
  readonly label: string;
  readonly target: string;
  readonly startedAt: Date | null;
  readonly link: CardLink;
}

/** A task as a whole. */
export interface TaskState {
  readonly shortId: string;
  /** The goal, or the title made from the first answer; null before either. */
  readonly title: string | null;
  readonly status: TaskStatus;
  readonly outcome: 'success' | 'partial' | 'failure' | null;
  readonly summary: string | null;
  readonly pausedReason: string | null;
  /** A pass runs or is queued. */
  readonly working: boolean;
  readonly steps: readonly StepState[];
  readonly waiting: readonly WaitingState[];
  readonly running: readonly RunningState[];
  /** Commands approved or queued that have not started. */
  readonly queuedCount: number;
  readonly lastActivityAt: Date;
  /** `▶️` is offered: it looks stuck (C9). */
  readonly stuck: boolean;
}

/** One tool call, as the progress message names it. */
export interface CallState {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly target: string | null;
  readonly state: 'requested' | 'running' | 'done' | 'failed' | 'unknown';
  readonly success: boolean | null;
  readonly durationMs: number | null;
  readonly startedAt: Date | null;
  /** For a look-up or a `run`: short id of the execution, what it is for, and how it stands. */
  readonly execution: { shortId: string; purpose: string; status: ExecutionStatus } | null;
}

/** One pass of the agent. */
export interface ProgressState {
  readonly state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  readonly calls: readonly CallState[];
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly stopRequestedBy: string | null;
}

/** A question of the agent's (C5). */
export interface QuestionState {
  readonly prompt: string;
  readonly why: string | null;
  readonly options: readonly string[];
  readonly entities: readonly string[];
  readonly status: 'open' | 'answered' | 'cancelled';
  readonly answer: string | null;
  readonly answeredBy: string | null;
  readonly answeredAt: Date | null;
}

/** The balance of a task (C6). */
export interface DigestState {
  readonly shortId: string;
  readonly title: string | null;
  readonly status: TaskStatus;
  readonly outcome: 'success' | 'partial' | 'failure' | null;
  readonly summary: string | null;
  /** Executions by status; statuses without any are left out. */
  readonly byStatus: ReadonlyArray<{ status: ExecutionStatus; count: number }>;
  readonly allowed: { byClass: number; byGrant: number; byApproval: number; denied: number };
  readonly entities: readonly string[];
  readonly knowledge: readonly string[];
  readonly durationMs: number;
  readonly passes: number;
  readonly toolCalls: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** In the currency of the model's prices; 0 where no prices are set. */
  readonly cost: number;
  readonly notes: readonly string[];
}

/** A failure that somebody must deal with (C7). */
export interface ErrorState {
  readonly message: string;
  readonly hint: string | null;
  readonly code: string;
  readonly fault: string;
  /** What state the task is in; null outside a task. */
  readonly taskState: string | null;
  readonly retry: boolean;
  readonly dealtWith: { by: UserId | null; at: Date } | null;
}
