import { asId, type MatrixEventId, type RoomId, type UserId } from '../../core/ids.ts';
import { answerCard } from './answer.ts';
import { batchCard } from './batch.ts';
import type { Card } from './card.ts';
import { digestCard } from './digest.ts';
import { errorCard } from './error.ts';
import { executionCard } from './execution.ts';
import { lobbyLinkCard, turnRootCard } from './lobby.ts';
import { planCard } from './plan.ts';
import { progressCard } from './progress.ts';
import { questionCard } from './question.ts';
import {
  alreadyDecided,
  reminderCard,
  typedConfirmationHint,
  whichOne,
  type WaitingName,
} from './replies.ts';
import type {
  ApprovalState,
  CallState,
  CardLink,
  ExecutionState,
  StepState,
  TaskState,
} from './state.ts';
import { taskCard } from './task.ts';
import type { View } from './view.ts';

/** One card with a name, for the snapshot tests and for the pictures in `docs/`. */
export interface Example {
  readonly name: string;
  readonly card: Card;
}

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
    blast: { direct: ['service:shop@web-1', 'service:blog@web-1'], total: 5 },
    status: 'pending_approval',
    allowedBy: null,
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

const approved = exampleApproval({
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
    approval: approved,
    queuedAt: at('15:04:20'),
    startedAt: at('15:04:21'),
    ...changes,
  });
}

const destructive = exampleExecution({
  shortId: 'w2c9d',
  purpose: 'Delete the old backups that fill the disk',
  target: 'nas-1',
  address: 'root@10.20.0.30',
  command: 'rm -rf /srv/backup/2023',
  risk: 'destructive',
  reasons: ['rm -r deletes a directory with all that is in it'],
  blast: { direct: [], total: 0 },
  approval: exampleApproval({ needsTyped: true, shortId: 'd8n5t' }),
});

const steps: StepState[] = [
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
    steps,
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

const calls: CallState[] = [
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

const restart: WaitingName = {
  shortId: 'k7f3q',
  label: 'Restart nginx, which is down',
  target: 'web-1',
  risk: 'config_mutation',
  link,
};
const deletion: WaitingName = {
  shortId: 'w2c9d',
  label: 'Delete the old backups',
  target: 'nas-1',
  risk: 'destructive',
  link,
};

const OUTPUT = Array.from(
  { length: 14 },
  (_, index) => `Get:${index + 1} bookworm/main amd64 Packages`,
).join('\n');

const ANSWER = `nginx on **web-1** is running again.

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

/** The main cards, each in its telling states. */
export function examples(): Example[] {
  const view = EXAMPLE_VIEW;
  return [
    { name: 'Task card (pinned)', card: taskCard(exampleTask(), view) },
    {
      name: 'Task card: done',
      card: taskCard(
        exampleTask({
          status: 'done',
          outcome: 'success',
          summary: 'nginx on web-1 runs again; all disks below 85 %.',
          waiting: [],
          running: [],
          steps: steps.map((step) =>
            step.status === 'replaced' ? step : { ...step, status: 'done' },
          ),
        }),
        view,
      ),
    },
    { name: 'Link in the lobby', card: lobbyLinkCard(exampleTask(), EXAMPLE_ROOM) },
    {
      name: 'Root of the first turn',
      card: turnRootCard({
        text: 'check the disks and restart nginx on web-1 if it is down',
        by: ANN,
        origin: 'lobby',
      }),
    },
    {
      name: 'Progress of a pass',
      card: progressCard(
        {
          state: 'running',
          calls,
          startedAt: at('15:04:00'),
          endedAt: null,
          stopRequestedBy: null,
        },
        view,
      ),
    },
    { name: 'Waits for a tap', card: executionCard(exampleExecution(), view, { callFor: [ANN] }) },
    { name: 'Waits for “I confirm”', card: executionCard(destructive, view, { callFor: [ANN] }) },
    {
      name: 'Running',
      card: executionCard(
        exampleRun({
          purpose: 'Refresh the package lists',
          target: 'web-2',
          command: 'apt-get update',
          tail: OUTPUT,
          stdoutBytes: 620,
        }),
        view,
      ),
    },
    {
      name: 'Done',
      card: executionCard(
        exampleRun({ status: 'completed', endedAt: at('15:04:24'), exitCode: 0 }),
        view,
      ),
    },
    {
      name: 'Failed',
      card: executionCard(
        exampleRun({
          status: 'failed',
          endedAt: at('15:04:24'),
          exitCode: 1,
          tail: 'Job for nginx.service failed because the control process exited with error code.\nSee "systemctl status nginx.service" for details.',
          stderrBytes: 140,
        }),
        view,
      ),
    },
    {
      name: 'Denied',
      card: executionCard(
        exampleExecution({
          status: 'denied',
          approval: exampleApproval({
            status: 'denied',
            decidedBy: ANN,
            decidedAt: at('15:04:33'),
            decidedMeans: 'word',
            reason: 'no, wait for the backup to end',
          }),
        }),
        view,
      ),
    },
    {
      name: 'Expired',
      card: executionCard(
        exampleExecution({ status: 'expired', approval: exampleApproval({ status: 'expired' }) }),
        view,
      ),
    },
    {
      name: 'Outcome unknown',
      card: executionCard(
        exampleRun({
          status: 'unknown',
          endedAt: at('15:04:39'),
          error: 'The connection was lost and the host does not answer.',
        }),
        view,
      ),
    },
    {
      name: 'Several targets',
      card: batchCard(
        {
          shortId: 'b6r2v',
          approval: exampleApproval(),
          executions: ['ct-101', 'ct-102', 'ct-103', 'ct-104'].map((target, index) =>
            exampleExecution({
              target,
              address: `pct exec ${101 + index} on pve-1`,
              purpose: 'Upgrade packages',
              command: 'apt-get -y upgrade',
              blast: { direct: [`service:app${index}@${target}`], total: 1 },
              reasons: ['apt-get upgrade installs packages'],
            }),
          ),
        },
        view,
        [ANN],
      ),
    },
    {
      name: 'Plan to approve',
      card: planCard(
        {
          steps: steps
            .filter((step) => step.generation === 2)
            .map((step) => ({ ...step, status: 'pending' })),
          approval: exampleApproval(),
        },
        view,
        [ANN],
      ),
    },
    {
      name: 'Question',
      card: questionCard(
        {
          prompt: 'Which backups may be deleted?',
          why: 'There are two sets, and only one needs to stay.',
          options: ['Those of 2023', 'Those of 2024', 'None'],
          entities: ['nas-1'],
          status: 'open',
          answer: null,
          answeredBy: null,
          answeredAt: null,
        },
        view,
        [ANN],
      ),
    },
    {
      name: 'Question, answered',
      card: questionCard(
        {
          prompt: 'Which backups may be deleted?',
          why: null,
          options: ['Those of 2023', 'Those of 2024', 'None'],
          entities: [],
          status: 'answered',
          answer: 'Those of 2023',
          answeredBy: ANN,
          answeredAt: at('15:04:12'),
        },
        view,
      ),
    },
    { name: 'Answer', card: answerCard({ text: ANSWER, growing: false }) },
    {
      name: 'Error',
      card: errorCard(
        {
          message: 'The model gave no usable answer three times.',
          hint: 'Write what to do next, or check OPENAI_BASE_URL and NOMOS_MODEL.',
          code: 'model_unusable',
          fault: 'model',
          taskState: 'Paused. Nothing runs; what was done is kept.',
          retry: true,
          dealtWith: null,
        },
        view,
        [ANN],
      ),
    },
    {
      name: 'Digest',
      card: digestCard(
        {
          shortId: 'k7f3q',
          title: 'Check the disks and restart nginx on web-1',
          status: 'done',
          outcome: 'success',
          summary: 'nginx on web-1 runs again; all disks are below 85 %.',
          byStatus: [
            { status: 'completed', count: 6 },
            { status: 'denied', count: 1 },
          ],
          allowed: { byClass: 4, byGrant: 1, byApproval: 1, denied: 1 },
          entities: ['web-1', 'web-2', 'nas-1'],
          knowledge: ['nginx stops after a bad reload'],
          durationMs: 192_000,
          passes: 3,
          toolCalls: 14,
          tokensIn: 18_420,
          tokensOut: 1_260,
          cost: 0,
          notes: [],
        },
        [ANN],
      ),
    },
    { name: 'Hint what to type', card: typedConfirmationHint(deletion, ANN) },
    { name: 'Decided before', card: alreadyDecided(approved, view) },
    { name: 'Which one?', card: whichOne([restart, deletion], false) },
    { name: 'Reminder', card: reminderCard(restart, at('16:04:00'), view, [ANN]) },
  ];
}
