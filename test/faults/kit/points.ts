import type { StepKind } from './model.ts';

/** A named place in the code at which a process can be told to end itself. */
export interface FaultPoint {
  readonly name: string;
  /** How often it may be passed before, in a random round. */
  readonly passings: number;
  /** What passes it: the jobs role, the bot, the bot while it makes its first rooms, or the bot in encrypted rooms. */
  readonly where: 'jobs' | 'bot' | 'home' | 'crypto';
  /** The work that reaches it. Default: one change. */
  readonly steps?: readonly StepKind[];
  /** The point at which the life before ends: for places that only who takes over comes to. */
  readonly after?: string;
  /** Whether the operator cancels what runs. */
  readonly cancels?: boolean;
  /** Passed only by a program of its own: in a light world the operator decides in the kit's name. */
  readonly ownProcess?: boolean;
}

const SUMMED_UP: readonly StepKind[] = [
  ...Array.from({ length: 22 }, (): StepKind => 'read'),
  'change',
];

/** Every fault point of the program; `points.test.ts` compares it with the code. */
export const FAULT_POINTS: readonly FaultPoint[] = [
  { name: 'pass.claimed', passings: 3, where: 'jobs' },
  { name: 'agent.before_summary', passings: 1, where: 'jobs', steps: SUMMED_UP },
  { name: 'agent.before_model_call', passings: 4, where: 'jobs' },
  { name: 'agent.before_answer_stored', passings: 4, where: 'jobs' },
  { name: 'agent.answer_stored', passings: 4, where: 'jobs' },
  { name: 'agent.tool_started', passings: 4, where: 'jobs' },
  { name: 'agent.preview_requested', passings: 1, where: 'jobs', steps: ['preview'] },
  {
    name: 'agent.before_execution_requested',
    passings: 3,
    where: 'jobs',
    steps: ['fan', 'change'],
  },
  { name: 'agent.before_tool_result', passings: 4, where: 'jobs' },
  { name: 'agent.tool_ended', passings: 4, where: 'jobs' },
  { name: 'approval.before_approve', passings: 2, where: 'jobs', ownProcess: true },
  { name: 'execution.before_claim_commit', passings: 3, where: 'jobs' },
  { name: 'execution.claimed', passings: 3, where: 'jobs' },
  { name: 'execution.before_start', passings: 3, where: 'jobs' },
  { name: 'execution.ended', passings: 3, where: 'jobs' },
  { name: 'execution.before_finish', passings: 3, where: 'jobs' },
  { name: 'execution.finished', passings: 3, where: 'jobs' },
  { name: 'ssh.connect', passings: 1, where: 'jobs' },
  { name: 'remote.read', passings: 2, where: 'jobs', steps: ['read'] },
  { name: 'remote.start', passings: 2, where: 'jobs' },
  { name: 'remote.started', passings: 2, where: 'jobs' },
  { name: 'remote.attach', passings: 1, where: 'jobs', steps: ['slow'], after: 'remote.started' },
  { name: 'remote.attached', passings: 1, where: 'jobs', steps: ['slow'], after: 'remote.started' },
  { name: 'remote.cancel', passings: 1, where: 'jobs', steps: ['endless'], cancels: true },
  { name: 'inbox.before_store', passings: 6, where: 'bot' },
  { name: 'inbox.stored', passings: 6, where: 'bot' },
  { name: 'inbox.before_commit', passings: 3, where: 'bot' },
  { name: 'projector.before_commit', passings: 8, where: 'bot' },
  { name: 'outbox.before_put', passings: 12, where: 'bot' },
  { name: 'outbox.after_put', passings: 12, where: 'bot' },
  { name: 'outbox.before_mark', passings: 12, where: 'bot' },
  { name: 'rooms.home_made', passings: 2, where: 'home' },
  { name: 'outbox.sealed', passings: 8, where: 'crypto' },
  { name: 'crypto.before_request', passings: 4, where: 'crypto' },
  { name: 'crypto.after_request', passings: 4, where: 'crypto' },
  { name: 'crypto.before_keep', passings: 8, where: 'crypto' },
  { name: 'crypto.kept', passings: 8, where: 'crypto' },
];

/** Names that stand in the code and are no place of their own that rounds could come to, with the reason. */
export const NOT_IN_ROUNDS: Readonly<Record<string, string>> = {
  'remote.exists':
    'a start finds its folder there: only a request that is sent twice gets there, which the program never does (ssh-once, ssh-random)',
  'check.before_commit':
    'checks are off in rounds: they come by the clock, not by work, and one that is lost is made again at its next interval (signals)',
  'alert.taken': 'rounds have no Alertmanager; what it sends twice changes nothing (signals)',
};
