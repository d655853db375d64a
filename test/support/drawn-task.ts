/** Tasks for tests of cards: the agent's side by hand, a projector whose clock the test sets, and no handler. */
import { Projector } from '../../bot/projector/projector.ts';
import type { Unit } from '../../core/db/database.ts';
import { requestExecution } from '../../core/executions/request.ts';
import { type ExecutionChange, transition } from '../../core/executions/states.ts';
import {
  asId,
  type ApprovalId,
  type MatrixEventId,
  type PassId,
  type RoomId,
  type SessionId,
  type TurnId,
} from '../../core/ids.ts';
import { openTask } from '../../core/tasks/open.ts';
import { endPass } from '../../core/tasks/passes.ts';
import { ANN, BotWorld, LOBBY } from './bot-world.ts';

/** The time that cards show; a test may set it. */
export interface Clock {
  now: Date;
}

/** A task that was asked for in the lobby, its room made, its pass running. */
export interface DrawnTask {
  sessionId: SessionId;
  turnId: TurnId;
  passId: PassId;
  roomId: RoomId;
}

/** Opens a world whose projector goes by `clock` and lets answers grow. */
export async function openDrawing(clock: Clock): Promise<BotWorld> {
  const world = await BotWorld.open();
  world.projector = new Projector({
    database: world.database,
    feed: world.feed,
    operators: world.operators,
    timeZone: 'UTC',
    streaming: true,
    now: () => clock.now,
  });
  return world;
}

/** What happens to tasks, without naming the world each time. */
export function drawnTasks(world: () => BotWorld, clock: Clock) {
  let asked = 0;
  return {
    async task(text = 'check the disks'): Promise<DrawnTask> {
      const { sessionId, turnId } = await world().write(async (unit) =>
        openTask(unit, {
          by: ANN,
          text,
          origin: {
            kind: 'lobby',
            roomId: LOBBY,
            eventId: asId<MatrixEventId>(`$asked${++asked}`),
          },
        }),
      );
      const pass = await world().database.read.pass.findFirstOrThrow({ where: { sessionId } });
      const passId = asId<PassId>(pass.id);
      await world().write(async (unit) => {
        await unit.db.pass.update({
          where: { id: passId },
          data: { state: 'running', startedAt: clock.now },
        });
        await unit.db.message.updateMany({
          where: { sessionId },
          data: { takenInAt: clock.now },
        });
        unit.emit({ type: 'pass.started', sessionId, refId: passId });
      });
      await world().settle();
      const session = await world().database.read.session.findUniqueOrThrow({
        where: { id: sessionId },
      });
      return { sessionId, turnId, passId, roomId: asId<RoomId>(session.roomId ?? '') };
    },
    async request(
      { sessionId, turnId, passId }: DrawnTask,
      command: string,
      purpose: string,
    ): Promise<{ executionId: string; approvalId: ApprovalId | null }> {
      const outcome = await world().write(async (unit) =>
        requestExecution(unit, {
          sessionId,
          turnId,
          passId,
          toolCallId: null,
          target: 'web-1',
          command,
          purpose,
        }),
      );
      await world().settle();
      return {
        executionId: outcome.executionId,
        approvalId: outcome.kind === 'waiting' ? outcome.approvalId : null,
      };
    },
    async move(
      unit: Unit,
      id: string,
      from: 'queued' | 'running',
      to: 'running' | 'completed' | 'failed',
      // When it started is the database's to say; a test with a clock of its own says it afterwards.
      { startedAt, ...change }: ExecutionChange & { startedAt?: Date },
    ): Promise<void> {
      const row = await unit.db.execution.findUniqueOrThrow({ where: { id } });
      await transition(unit, row, from, to, { actor: 'system' }, change);
      if (startedAt !== undefined)
        await unit.db.execution.update({ where: { id }, data: { startedAt } });
    },
    async finish(
      one: DrawnTask,
      answer: string | null,
      state: 'done' | 'failed' | 'cancelled' = 'done',
    ): Promise<void> {
      await world().write(async (unit) => {
        await unit.db.pass.update({ where: { id: one.passId }, data: { answer } });
        await endPass(unit, { passId: one.passId, state });
      });
      await world().settle();
    },
  };
}
