import { asId, type MatrixEventId, type RoomId, type UserId } from '../../core/ids.ts';
import type { WaitingName } from './replies.ts';
import type {
  ApprovalState,
  CallState,
  CardLink,
  ExecutionState,
  StepState,
  TaskState,
} from './state.ts';
import type { View } from './view.ts';

/** A task's room, an operator and a time of day that all examples share. */
export const ANN: UserId = asId('@ann:example.org');
export const EXAMPLE_ROOM: RoomId = asId('!task:example.org');
export const EXAMPLE_VIEW: View = { now: at('15:04:40'), timeZone: 'UTC' };

/** A time on the day of the examples. */
export function at(time: string): Date {
  return new Date(`2026-11-29T${time}.000Z`);
}

const link: CardLink = { roomId: EXAMPLE_ROOM, eventId: asId<MatrixEventId>('$card') };

/** A pending approval, with what the example changes. */
export function exampleApproval(changes: Partial<ApprovalState> = {}): ApprovalState {
  return {
    shortId: 'p4x8m',
    status: 'pending',
    needsTyped: false,
    needsRole: 'approver',
    needsPeople: 1,
    votes: [],
    missing: [],
    createdAt: at('15:04:00'),
    expiresAt: at('16:04:00'),
    decidedBy: null,
    decidedAt: null,
    decidedMeans: null,
    reason: null,
    ...changes,
  };
}

/** An execution that waits, with what the example changes. */
export function exampleExecution(changes: Partial<ExecutionState> = {}): ExecutionState {
  return {
    shortId: 'k7f3q',
    purpose: 'Restart nginx, which is down',
    target: 'web-1',
    address: 'root@10.20.0.11',
    command: 'systemctl restart nginx',
    risk: 'config_mutation',
    reasons: ['systemctl restart changes a running service'],
    blast: [
      { names: ['service:shop@web-1', 'service:blog@web-1'], count: 2 },
      { names: ['service:mail@ct-101', 'service:cron@ct-101', 'service:feed@ct-102'], count: 3 },
    ],
    status: 'pending_approval',
    allowedBy: null,
    preview: null,
    scripts: [],
    masked: false,
    approval: exampleApproval(),
    createdAt: at('15:04:00'),
    queuedAt: null,
    startedAt: null,
    endedAt: null,
    exitCode: null,
    signal: null,
    tail: '',
    stdoutBytes: 0,
    stderrBytes: 0,
    error: null,
    cancelRequestedBy: null,
    ...changes,
  };
}

/** A decision that was made. */
export const EXAMPLE_APPROVED = exampleApproval({
  status: 'approved',
  decidedBy: ANN,
  decidedAt: at('15:04:20'),
  decidedMeans: 'tap',
});

/** A running execution, with what the example changes. */
export function exampleRun(changes: Partial<ExecutionState> = {}): ExecutionState {
  return exampleExecution({
    status: 'running',
    allowedBy: 'approval',
    approval: EXAMPLE_APPROVED,
    queuedAt: at('15:04:20'),
    startedAt: at('15:04:21'),
    ...changes,
  });
}

/** A deletion that waits for "I confirm". */
export const EXAMPLE_DELETION = exampleExecution({
  shortId: 'w2c9d',
  purpose: 'Delete the old backups that fill the disk',
  target: 'nas-1',
  address: 'root@10.20.0.30',
  command: 'rm -rf /srv/backup/2023',
  risk: 'destructive',
  reasons: ['rm -r deletes a directory with all that is in it'],
  blast: [],
  approval: exampleApproval({ needsTyped: true, shortId: 'd8n5t' }),
});

/** Two generations of a plan. */
export const EXAMPLE_STEPS: StepState[] = [
  { seq: 1, generation: 1, title: 'Read the disks of all hosts', status: 'done' },
  { seq: 2, generation: 1, title: 'Restart nginx', status: 'replaced' },
  { seq: 3, generation: 2, title: 'Check the configuration with nginx -t', status: 'done' },
  { seq: 4, generation: 2, title: 'Restart nginx on web-1', status: 'running' },
  { seq: 5, generation: 2, title: 'Verify that it answers', status: 'pending' },
];

/** A task that waits for a decision while a command runs, with what the example changes. */
export function exampleTask(changes: Partial<TaskState> = {}): TaskState {
  return {
    shortId: 'k7f3q',
    title: 'Check the disks and restart nginx on web-1',
    status: 'awaiting_approval',
    outcome: null,
    summary: null,
    pausedReason: null,
    working: false,
    steps: EXAMPLE_STEPS,
    waiting: [
      {
        kind: 'approval',
        label: 'Restart nginx, which is down',
        target: 'web-1',
        risk: 'config_mutation',
        until: at('16:04:00'),
        link,
      },
      {
        kind: 'question',
        label: 'Which backups may go?',
        target: null,
        risk: null,
        until: null,
        link,
      },
    ],
    running: [
      { label: 'Refresh the package lists', target: 'web-2', startedAt: at('15:03:28'), link },
    ],
    queuedCount: 0,
    lastActivityAt: at('15:04:30'),
    stuck: false,
    ...changes,
  };
}

/** A finished look-up, with what the example changes. */
export function exampleCall(changes: Partial<CallState> = {}): CallState {
  return {
    name: 'get_entity',
    arguments: { slug: 'web-1' },
    target: 'web-1',
    state: 'done',
    success: true,
    durationMs: 12,
    startedAt: at('15:04:00'),
    execution: null,
    ...changes,
  };
}

/** Many calls, with look-ups of one execution among them. */
export const EXAMPLE_CALLS: CallState[] = [
  ...Array.from({ length: 31 }, (_, index) => exampleCall({ target: `host-${index}` })),
  exampleCall({
    name: 'run',
    target: 'web-1',
    arguments: { purpose: 'Read disk usage', command: 'df -h' },
    durationMs: 412,
  }),
  exampleCall({
    name: 'run',
    target: 'web-2',
    arguments: { purpose: 'Read disk usage', command: 'df -h' },
    durationMs: 9_800,
    success: false,
  }),
  exampleCall({
    name: 'get_execution_status',
    execution: { shortId: 'k7f3q', purpose: 'Refresh the package lists', status: 'running' },
  }),
  exampleCall({
    name: 'get_execution_status',
    execution: { shortId: 'k7f3q', purpose: 'Refresh the package lists', status: 'running' },
  }),
  exampleCall({
    name: 'run',
    arguments: { purpose: 'Is nginx active?', command: 'systemctl is-active nginx' },
    state: 'running',
    success: null,
    durationMs: null,
    startedAt: at('15:04:38'),
  }),
];

/** Something that waits, as answers name it. */
export const NAMED_RESTART: WaitingName = {
  shortId: 'k7f3q',
  label: 'Restart nginx, which is down',
  target: 'web-1',
  risk: 'config_mutation',
  link,
};
/** Something destructive that waits, likewise. */
export const NAMED_DELETION: WaitingName = {
  shortId: 'w2c9d',
  label: 'Delete the old backups',
  target: 'nas-1',
  risk: 'destructive',
  link,
};

/** More lines of output than a card shows. */
export const EXAMPLE_OUTPUT = Array.from(
  { length: 14 },
  (_, index) => `Get:${index + 1} bookworm/main amd64 Packages`,
).join('\n');

/** An answer in Markdown. */
export const EXAMPLE_ANSWER = `nginx on **web-1** is running again.

1. The disks are fine; the fullest is \`/srv\` on nas-1 with 81 %.
2. nginx had stopped after a *bad* reload, the configuration is valid now.

| host | disk | used |
|---|---|---|
| web-1 | / | 41 % |
| nas-1 | /srv | 81 % |

\`\`\`sh
systemctl is-active nginx
\`\`\`
See [the manual](https://nginx.org/en/docs/).`;
