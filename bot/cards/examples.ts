import { answerCard, callCard } from './answer.ts';
import { batchCard } from './batch.ts';
import type { Card } from './card.ts';
import { digestCard } from './digest.ts';
import { errorCard } from './error.ts';
import {
  ANN,
  at,
  EXAMPLE_ANSWER,
  EXAMPLE_APPROVED,
  EXAMPLE_CALLS,
  EXAMPLE_DELETION,
  EXAMPLE_OUTPUT,
  EXAMPLE_ROOM,
  EXAMPLE_STEPS,
  EXAMPLE_VIEW,
  exampleApproval,
  exampleExecution,
  exampleRun,
  exampleTask,
  NAMED_DELETION,
  NAMED_RESTART,
} from './example-state.ts';
import { executionCard } from './execution.ts';
import { lobbyLinkCard, turnRootCard } from './lobby.ts';
import { planCard } from './plan.ts';
import { progressCard } from './progress.ts';
import { questionCard } from './question.ts';
import { alreadyDecided, reminderCard, typedConfirmationHint, whichOne } from './replies.ts';
import { signalExamples } from './signal-examples.ts';
import { taskCard } from './task.ts';
import { welcomeCard } from './welcome.ts';

/** One card with a name, for the snapshot tests and for the pictures in `docs/`. */
export interface Example {
  readonly name: string;
  readonly card: Card;
}

/** The main cards, each in its telling states. */
export function examples(): Example[] {
  const view = EXAMPLE_VIEW;
  return [
    { name: 'Welcome (pinned in the lobby)', card: welcomeCard() },
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
          steps: EXAMPLE_STEPS.map((step) =>
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
          calls: EXAMPLE_CALLS,
          startedAt: at('15:04:00'),
          endedAt: null,
          stopRequestedBy: null,
        },
        view,
      ),
    },
    { name: 'Waits for a tap', card: executionCard(exampleExecution(), view, { callFor: [ANN] }) },
    {
      name: 'Waits for “I confirm”',
      card: executionCard(EXAMPLE_DELETION, view, { callFor: [ANN] }),
    },
    {
      name: 'Running',
      card: executionCard(
        exampleRun({
          purpose: 'Refresh the package lists',
          target: 'web-2',
          command: 'apt-get update',
          tail: EXAMPLE_OUTPUT,
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
          error: 'no, wait for the backup to end',
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
              blast: [{ names: [`service:app${index}@${target}`], count: 1 }],
              reasons: ['apt-get upgrade installs packages'],
            }),
          ),
        },
        view,
        [ANN],
      ),
    },
    {
      name: 'A script whose content is fixed, and one that cannot be',
      card: executionCard(
        exampleExecution({
          purpose: 'Weekly clean-up',
          command: 'cd /opt/jobs && ./cleanup.sh && ssh nas-1 ./rotate.sh',
          scripts: [
            { name: './cleanup.sh', hash: '3f1c9a2b77de', why: null },
            {
              name: './rotate.sh',
              hash: null,
              why: 'it is inside a container or on another machine',
            },
          ],
        }),
        view,
        { callFor: [ANN] },
      ),
    },
    {
      name: 'Several targets, with what a dry run said on each',
      card: batchCard(
        {
          shortId: 'b6r2v',
          approval: exampleApproval(),
          executions: ['ct-101', 'ct-102', 'ct-103'].map((target, index) =>
            exampleExecution({
              target,
              address: `pct exec ${101 + index} on pve-1`,
              purpose: 'Upgrade packages',
              command: 'apt-get -y upgrade',
              blast: [],
              reasons: ['apt-get upgrade changes packages'],
              preview: {
                command: 'apt-get -s upgrade',
                exitCode: 0,
                tail:
                  index === 2
                    ? '0 upgraded, 0 newly installed.'
                    : 'Inst openssl [3.0.15] (3.0.16)\n1 upgraded, 0 newly installed.',
                longer: false,
              },
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
          steps: EXAMPLE_STEPS.filter((step) => step.generation === 2).map((step) => ({
            ...step,
            detail: null,
          })),
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
    { name: 'Answer', card: answerCard({ text: EXAMPLE_ANSWER, growing: false }) },
    { name: 'Call after a streamed answer', card: callCard(EXAMPLE_ANSWER, [ANN]) },
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
    { name: 'Hint what to type', card: typedConfirmationHint(NAMED_DELETION, ANN) },
    { name: 'Decided before', card: alreadyDecided(EXAMPLE_APPROVED, view) },
    { name: 'Which one?', card: whichOne([NAMED_RESTART, NAMED_DELETION], false) },
    ...signalExamples(),
    { name: 'Reminder', card: reminderCard(NAMED_RESTART, at('16:04:00'), view, [ANN]) },
  ];
}
