import { approvalsCommand } from './approvals.ts';
import { archiveCommand } from './archive.ts';
import { callsCommand } from './calls.ts';
import { cancelCommand } from './cancel.ts';
import type { Command } from './command.ts';
import { continueCommand } from './continue.ts';
import { approveCommand, denyCommand } from './decide.ts';
import { digestCommand } from './digest.ts';
import { entityCommand } from './entity.ts';
import { grantsCommand, revokeCommand } from './grants.ts';
import { graphCommand } from './graph.ts';
import { inviteCommand } from './invite.ts';
import { knowledgeCommand } from './knowledge.ts';
import { pauseCommand, unpauseCommand } from './pause.ts';
import { reviewCommand } from './review.ts';
import { runbooksCommand } from './runbooks.ts';
import { scheduleCommand } from './schedule.ts';
import { signalsCommand } from './signals.ts';
import { statusCommand } from './status.ts';
import { stopCommand } from './stop.ts';
import { tasksCommand } from './tasks.ts';
import { trendCommand } from './trend.ts';
import { whoamiCommand } from './whoami.ts';

/** All commands but `!help`, which is made from them, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  tasksCommand,
  statusCommand,
  callsCommand,
  digestCommand,
  approvalsCommand,
  approveCommand,
  denyCommand,
  stopCommand,
  continueCommand,
  cancelCommand,
  pauseCommand,
  unpauseCommand,
  grantsCommand,
  revokeCommand,
  reviewCommand,
  scheduleCommand,
  signalsCommand,
  archiveCommand,
  inviteCommand,
  entityCommand,
  graphCommand,
  knowledgeCommand,
  runbooksCommand,
  trendCommand,
  whoamiCommand,
];
