/** The operator of a world: opens tasks, decides, answers, stops and cancels, over Matrix, the API and the domain's verbs. */
import { decide, type Decision } from '../../../core/approvals/decide.ts';
import { waitingApprovals, type WaitingApproval } from '../../../core/approvals/waiting.ts';
import { withdraw } from '../../../core/approvals/withdraw.ts';
import { NomosError } from '../../../core/errors.ts';
import { requestCancel } from '../../../core/executions/cancel.ts';
import {
  asId,
  type ApprovalId,
  type ExecutionId,
  type MatrixEventId,
  type QuestionId,
  type SessionId,
  type TurnId,
} from '../../../core/ids.ts';
import { archiveTask } from '../../../core/tasks/archive.ts';
import { editMessage, receiveMessage } from '../../../core/tasks/messages.ts';
import { redactMessage } from '../../../core/tasks/redact.ts';
import { openTask } from '../../../core/tasks/open.ts';
import { answerQuestion } from '../../../core/tasks/questions.ts';
import { requestStop } from '../../../core/tasks/stop.ts';
import { scriptText, type TaskScript } from './model.ts';
import type { Random } from './random.ts';
import { isAway, type FaultWorld } from './world.ts';

/** How long a decision that did not arrive is waited for before the operator says it again. */
const AGAIN_MS = 8_000;
const LOOK_MS = 120;

/** How a steady operator approves: by the domain's own verb, or through the program: in the room or by its API, where there is one. */
export type Steady = 'verb' | 'program';

/** See the head of this file. */
export class OperatorAtWork {
  /** The events by which tasks were asked for; each must open exactly one. */
  readonly asked: string[] = [];
  /** Everything else that was said in rooms. */
  readonly said: string[] = [];
  readonly counts: Record<string, number> = {};
  /** How often they have looked at what there is to do, and done it. */
  looks = 0;
  readonly #world: FaultWorld;
  readonly #random: Random;
  readonly #saidAt = new Map<string, number>();
  readonly #whims = new Map<string, boolean>();
  #working = true;
  #loop: Promise<void> | undefined;
  #serial = 0;

  readonly #steady: Steady | undefined;
  /** Cancels whatever changes something, once it runs. */
  cancels = false;

  /** With `steady` they approve whatever waits and never change their mind; see there. */
  constructor(world: FaultWorld, random: Random, options: { steady?: Steady } = {}) {
    this.#world = world;
    this.#random = random;
    this.#steady = options.steady;
  }

  /** Looks at what waits for a person from now on, until `stop`. */
  start(): void {
    this.#loop = (async () => {
      while (this.#working) {
        await this.#world.steady(() => this.#look());
        this.looks++;
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    })();
    // Told by `stop`; until then it must not end the run.
    this.#loop.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#working = false;
    await this.#loop;
  }

  /** Asks for a task, once. */
  async ask(script: TaskScript): Promise<void> {
    const { matrix, database, operator } = this.#world;
    const text = scriptText(script);
    if (matrix !== undefined) {
      this.asked.push(await matrix.person.say(await matrix.person.room(/lobby/i), text));
      return;
    }
    const eventId = this.#newEvent(`ask-${script.token}`);
    await this.#world.steady(async () => {
      // A try whose commit was not heard of may have been made.
      if ((await database.read.message.count({ where: { eventId } })) > 0) return;
      await database.write((unit) =>
        openTask(unit, { by: operator.userId, text, origin: { kind: 'lobby', eventId } }),
      );
    });
    this.asked.push(eventId);
  }

  async #look(): Promise<void> {
    const { database } = this.#world;
    for (const approval of await waitingApprovals(database.read)) {
      if (this.#due(approval.id)) await this.#decide(approval);
    }
    const questions = await database.read.question.findMany({ where: { status: 'open' } });
    for (const question of questions) {
      if (this.#due(question.id)) await this.#answer(question.id, question.sessionId);
    }
    if (this.cancels) await this.#cancelAll();
    else if (this.#steady === undefined) {
      await this.#whim();
      await this.#talk();
    }
    await this.#pokeFailed();
  }

  #due(id: string): boolean {
    const last = this.#saidAt.get(id);
    if (last !== undefined && performance.now() - last < AGAIN_MS) return false;
    this.#saidAt.set(id, performance.now());
    return true;
  }

  async #decide(approval: WaitingApproval): Promise<void> {
    if (this.#steady === 'verb') return this.#decideByVerb(approval, 'approve');
    if (this.#steady === 'program') {
      return this.#world.matrix === undefined
        ? this.#decideByApi(approval, 'approve')
        : this.#decideInRoom(approval, 'approve');
    }
    const verdict = this.#random.chance(0.85) ? 'approve' : 'deny';
    const kind = this.#random.weighted([
      [this.#world.matrix === undefined ? 0 : 6, 'room'],
      [3, 'api'],
      [3, 'verb'],
      [1, 'race'],
      [1, 'withdraw'],
    ] as const);
    this.#count(`${kind} ${verdict}`);
    switch (kind) {
      case 'room':
        return this.#decideInRoom(approval, verdict);
      case 'api':
        return this.#decideByApi(approval, verdict);
      case 'verb':
        return this.#decideByVerb(approval, verdict);
      case 'race':
        await Promise.allSettled([
          this.#decideByVerb(approval, 'approve'),
          this.#decideByApi(approval, 'deny'),
          this.#decideByVerb(approval, 'deny'),
        ]);
        return;
      case 'withdraw': {
        const eventId = this.#newEvent('yes');
        await this.#decideByVerb(approval, 'approve', eventId);
        await this.#world.database.write((unit) =>
          withdraw(unit, {
            approvalId: asId<ApprovalId>(approval.id),
            operator: this.#world.operator,
            eventId,
          }),
        );
      }
    }
  }

  async #decideByVerb(
    approval: WaitingApproval,
    verdict: Decision['verdict'],
    eventId: string = this.#newEvent('word'),
  ): Promise<void> {
    await this.#world.database.write((unit) =>
      decide(unit, {
        approvalId: asId<ApprovalId>(approval.id),
        verdict,
        operator: this.#world.operator,
        means: approval.needsTyped ? 'confirmation' : 'tap',
        eventId,
        typedConfirmation: approval.needsTyped,
      }),
    );
  }

  async #decideByApi(approval: WaitingApproval, verdict: Decision['verdict']): Promise<void> {
    const url = this.#world.processes.map((one) => one.apiUrl).find((one) => one !== undefined);
    if (url === undefined) return this.#decideByVerb(approval, verdict);
    try {
      const response = await fetch(`${url}/api/v1/approvals/${approval.id}/decision`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${this.#world.apiToken}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          decision: verdict,
          ...(approval.needsTyped && verdict === 'approve' ? { confirmation: 'I confirm' } : {}),
        }),
        signal: AbortSignal.timeout(5_000),
      });
      await response.arrayBuffer();
      this.#count(`api answered ${response.status}`);
    } catch {
      // The process was killed in the middle of it: nobody knows whether it counted, and it is said again later.
      this.#count('api broke off');
    }
  }

  async #decideInRoom(approval: WaitingApproval, verdict: Decision['verdict']): Promise<void> {
    const { matrix, database } = this.#world;
    const [execution] = approval.executions;
    if (matrix === undefined || execution === undefined) return;
    const cardKey =
      execution.batchId === null ? `execution:${execution.id}` : `batch:${execution.batchId}`;
    const card = await database.read.matrixCard.findUnique({ where: { cardKey } });
    const session = await database.read.session.findUnique({
      where: { id: approval.sessionId ?? '' },
    });
    if (card?.eventId == null || session?.roomId == null) {
      // The card is not there yet.
      this.#saidAt.delete(approval.id);
      return;
    }
    if (verdict === 'approve' && (approval.needsTyped || this.#random.chance(0.3))) {
      this.said.push(
        await matrix.person.send(session.roomId, 'm.room.message', {
          msgtype: 'm.text',
          body: approval.needsTyped ? 'I confirm' : 'go ahead',
          'm.relates_to': { 'm.in_reply_to': { event_id: card.eventId } },
        }),
      );
      return;
    }
    const { roomId } = session;
    const { eventId } = card;
    const [tap, word] = verdict === 'approve' ? ['✅', 'go ahead'] : ['❌', 'no'];
    const said = await matrix.person.react(roomId, eventId, tap).catch((error: unknown) => {
      // Said before, and not carried out yet: the same tap cannot be made twice.
      if (!String(error).includes('M_DUPLICATE_ANNOTATION')) throw error;
      return matrix.person.send(roomId, 'm.room.message', {
        msgtype: 'm.text',
        body: word,
        'm.relates_to': { 'm.in_reply_to': { event_id: eventId } },
      });
    });
    this.said.push(said);
  }

  async #answer(questionId: string, sessionId: string): Promise<void> {
    const { matrix, database, operator } = this.#world;
    this.#count('answer');
    const session = await database.read.session.findUniqueOrThrow({ where: { id: sessionId } });
    const card = await database.read.matrixCard.findUnique({
      where: { cardKey: `question:${questionId}` },
    });
    if (matrix !== undefined && session.roomId !== null && card?.eventId != null) {
      const { roomId } = session;
      const said = await matrix.person.react(roomId, card.eventId, '1️⃣').catch((error: unknown) => {
        if (!String(error).includes('M_DUPLICATE_ANNOTATION')) throw error;
        return undefined;
      });
      if (said !== undefined) this.said.push(said);
      return;
    }
    if (matrix !== undefined && this.#random.chance(0.8)) {
      this.#saidAt.delete(questionId);
      return;
    }
    await database.write((unit) =>
      answerQuestion(unit, {
        questionId: asId<QuestionId>(questionId),
        answer: 'this',
        by: operator.userId,
        via: 'api',
      }),
    );
  }

  /** Now and then something that runs is cancelled, or a pass stopped. */
  async #whim(): Promise<void> {
    const { database, operator } = this.#world;
    const open = await database.read.execution.findMany({
      where: { status: { in: ['queued', 'running'] }, risk: { not: 'read_only' } },
      select: { id: true, sessionId: true },
    });
    for (const { id, sessionId } of open) {
      if (this.#whims.has(id) || sessionId === null) continue;
      const whim = this.#random.weighted([
        [90, 'none'],
        [6, 'cancel'],
        [4, 'stop'],
      ] as const);
      this.#whims.set(id, true);
      if (whim === 'none') continue;
      this.#count(whim);
      await database.write(async (unit) => {
        if (whim === 'cancel') {
          await requestCancel(unit, { executionId: asId<ExecutionId>(id), by: operator.userId });
        } else {
          await requestStop(unit, {
            sessionId: asId<SessionId>(sessionId),
            by: operator.userId,
          });
        }
      });
    }
  }

  /** Now and then something more is said while a pass works, and perhaps changed or taken back; or the task is put away. */
  async #talk(): Promise<void> {
    const { database, operator } = this.#world;
    const working = await database.read.pass.findMany({
      where: { state: { in: ['queued', 'running'] }, session: { archivedAt: null } },
      select: { id: true, sessionId: true, turnId: true, attempt: true },
    });
    for (const one of working) {
      // Again each time that it is begun.
      const key = `${one.id} ${one.attempt}`;
      if (this.#whims.has(key)) continue;
      const talk = this.#random.weighted([
        [84, 'none'],
        [5, 'say'],
        [5, 'slip'],
        [5, 'edit'],
        [1, 'put away'],
      ] as const);
      this.#whims.set(key, true);
      if (talk === 'none') continue;
      this.#count(talk);
      const sessionId = asId<SessionId>(one.sessionId);
      const sender = operator.userId;
      const eventId = this.#newEvent(talk);
      if (talk === 'put away') {
        await unlessTooLate(
          database.write((unit) => archiveTask(unit, { sessionId, by: sender })),
          'task_busy',
        );
        continue;
      }
      const about = { sessionId, turnId: asId<TurnId>(one.turnId), sender };
      const text = `By the way, ${talk}.`;
      await unlessTooLate(
        database.write((unit) => receiveMessage(unit, { ...about, eventId, text })),
        'task_archived',
      );
      if (talk === 'slip') await database.write((unit) => redactMessage(unit, { eventId, sender }));
      if (talk === 'edit') {
        const edit = { eventId, editEventId: this.#newEvent('edited'), sender };
        await database.write((unit) => editMessage(unit, { ...edit, text: `${text} Edited.` }));
      }
    }
  }

  async #cancelAll(): Promise<void> {
    const { database, operator } = this.#world;
    const running = await database.read.execution.findMany({
      where: { status: 'running', risk: { not: 'read_only' } },
      select: { id: true },
    });
    const begun = new Set(this.#world.hostLog('starts').map(({ executionId }) => executionId));
    for (const { id } of running) {
      if (!begun.has(id) || !this.#due(`cancel ${id}`)) continue;
      await database.write((unit) =>
        requestCancel(unit, { executionId: asId<ExecutionId>(id), by: operator.userId }),
      );
    }
  }

  /**
   * A task that is paused, or whose last pass failed, says that it waits for the operator, who says to go on. No other task is helped:
   * one whose work came to an end without a word is lost.
   */
  async #pokeFailed(): Promise<void> {
    const { database, operator } = this.#world;
    const stuck = await database.read.$queryRaw<
      Array<{ id: SessionId; turn_id: TurnId; pass: string }>
    >`
      SELECT s.id, p.turn_id, p.id AS pass FROM sessions s
      JOIN LATERAL (SELECT * FROM passes p WHERE p.session_id = s.id ORDER BY seq DESC LIMIT 1) p ON true
      WHERE s.ended_at IS NULL AND (p.state = 'failed' OR s.paused_reason IS NOT NULL)
        AND NOT EXISTS (SELECT FROM passes q WHERE q.session_id = s.id AND q.state IN ('queued', 'running'))
        AND NOT EXISTS (SELECT FROM executions e WHERE e.session_id = s.id
          AND e.status IN ('requested', 'pending_approval', 'approved', 'queued', 'running'))
        AND NOT EXISTS (SELECT FROM questions q WHERE q.session_id = s.id AND q.status = 'open')`;
    for (const { id: sessionId, turn_id: turnId, pass } of stuck) {
      if (!this.#due(`poke ${pass}`)) continue;
      this.#count('go on');
      const eventId = asId<MatrixEventId>(`$go-on-${pass}`);
      await database.write(async (unit) => {
        if ((await unit.db.message.count({ where: { eventId } })) > 0) return;
        await receiveMessage(unit, {
          sessionId,
          turnId,
          text: 'Go on.',
          sender: operator.userId,
          eventId,
        });
      });
    }
  }

  #newEvent(what: string): MatrixEventId {
    return asId<MatrixEventId>(
      `$${what}-${this.#world.databaseName}-${++this.#serial}-${this.#random.int(0, 1e9)}`,
    );
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

/** Waits for what may be refused with this code, since the task has got on meanwhile. */
async function unlessTooLate(work: Promise<unknown>, code: string): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof NomosError) || error.code !== code) throw error;
  });
}

export { isAway };
