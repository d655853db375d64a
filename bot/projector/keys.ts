/** The key of `matrix_state` that holds how far the log was drawn. */
export const PROJECTOR_STATE = 'projector';

/** The fixed keys of cards in `matrix_cards`. */
export const cardKey = {
  task: (sessionId: string) => `task:${sessionId}`,
  lobby: (sessionId: string) => `lobby:${sessionId}`,
  turn: (turnId: string) => `turn:${turnId}`,
  progress: (passId: string) => `progress:${passId}`,
  answer: (passId: string) => `answer:${passId}`,
  /** The call for whoever must go on after an answer that was streamed. */
  call: (passId: string) => `call:${passId}`,
  answerFile: (passId: string) => `answer-file:${passId}`,
  execution: (execution: { id: string; batchId: string | null }) =>
    execution.batchId === null ? `execution:${execution.id}` : `batch:${execution.batchId}`,
  commandFile: (cardKeyOfExecution: string) => `command-file:${cardKeyOfExecution}`,
  previewFile: (cardKeyOfExecution: string) => `preview-file:${cardKeyOfExecution}`,
  outputFile: (executionId: string) => `output-file:${executionId}`,
  /** A card that was asked about before and stands in the room anew. */
  former: (eventId: string) => `former:${eventId}`,
  plan: (approvalId: string) => `approval:${approvalId}`,
  question: (questionId: string) => `question:${questionId}`,
  digest: (sessionId: string, eventId: bigint) => `digest:${sessionId}:${eventId}`,
  error: (eventId: bigint) => `error:${eventId}`,
  hint: (eventId: bigint) => `hint:${eventId}`,
  reminder: (eventId: bigint) => `reminder:${eventId}`,
  runbook: (runbookId: string) => `runbook:${runbookId}`,
  killSwitch: (eventId: bigint) => `switch:${eventId}`,
  /** One for each time that people are called for it. */
  signal: (signalId: string, calls: number) => `signal:${signalId}:${calls}`,
  signalStorm: (hour: number) => `signal-storm:${hour}`,
  /** The last name that was given to a task's room; no event hangs on it. */
  roomName: (sessionId: string) => `name:${sessionId}`,
} as const;
