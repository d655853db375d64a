import { drawApproval, drawHint, drawQuestion, drawReminder } from './draw-approval.ts';
import type { DrawContext } from './context.ts';
import { drawError, settleByMessage, settleByResumption, settleOutside } from './draw-error.ts';
import { drawExecution } from './draw-execution.ts';
import { drawAnswer, drawProgress, markTakenIn } from './draw-pass.ts';
import { drawRunbook } from './draw-runbook.ts';
import { drawSwitch } from './draw-switch.ts';
import { drawDigest, drawRoom, drawTask, drawTurnRoot } from './draw-task.ts';
import { drawSignal, drawSignalsOf } from './draw-signal.ts';
import type { Touched } from './touched.ts';

/** Draws one thing from its rows. Returns the task whose card should be drawn again soon, if any. */
export async function draw(context: DrawContext, touched: Touched): Promise<string | undefined> {
  switch (touched.kind) {
    case 'room':
      await drawRoom(context, touched.sessionId);
      return undefined;
    case 'turn':
      await drawTurnRoot(context, touched.turnId);
      return undefined;
    case 'task': {
      const { again } = await drawTask(context, touched.sessionId);
      return again ? touched.sessionId : undefined;
    }
    case 'execution':
      await drawExecution(context, touched.executionId);
      return undefined;
    case 'approval':
      await drawApproval(context, touched.approvalId, touched.asked);
      return undefined;
    case 'question':
      await drawQuestion(context, touched.questionId);
      return undefined;
    case 'progress':
      await drawProgress(context, touched.passId);
      return undefined;
    case 'answer':
      await drawAnswer(context, touched.passId);
      return undefined;
    case 'digest':
      await drawDigest(context, touched.sessionId, touched.event.id);
      return undefined;
    case 'error':
      await drawError(context, touched.event);
      return undefined;
    case 'hint':
      await drawHint(context, touched.event);
      return undefined;
    case 'reminder':
      await drawReminder(context, touched.event);
      return undefined;
    case 'taken_in':
      await markTakenIn(context, touched.messageId);
      return undefined;
    case 'message':
      await settleByMessage(context, touched.messageId);
      return undefined;
    case 'resumed':
      await settleByResumption(context, touched.sessionId, touched.event);
      return undefined;
    case 'runbook':
      await drawRunbook(context, touched.runbookId);
      return undefined;
    case 'signal':
      await drawSignal(context, touched.signalId);
      return undefined;
    case 'signals_of':
      await drawSignalsOf(context, touched.sessionId);
      return undefined;
    case 'switch':
      await drawSwitch(context, touched.event);
      return undefined;
    case 'settled':
      await settleOutside(context, touched.event);
      return undefined;
  }
}
