/** Tasks in rooms for tests of decisions: the bot's inside (`BotWorld`) with handler and projector, and the agent's side by hand. */
import { createHandler } from '../../bot/handlers/index.ts';
import { cardKey } from '../../bot/projector/keys.ts';
import { Projector } from '../../bot/projector/projector.ts';
import type { Approval, Execution } from '../../core/db/rows.ts';
import type { Preview } from '../../core/executions/preview.ts';
import { requestExecution } from '../../core/executions/request.ts';
import {
  asId,
  type ApprovalId,
  type ExecutionId,
  type MatrixEventId,
  type PassId,
  type RoomId,
  type SessionId,
  type TurnId,
  type UserId,
} from '../../core/ids.ts';
import { endPass } from '../../core/tasks/passes.ts';
import { queuePass } from '../../core/tasks/turns.ts';
import { ANN, BotWorld, LOBBY, type Shown } from './bot-world.ts';

/** A task with its room, its first turn, and a pass that runs in it. */
export interface RoomTask {
  sessionId: SessionId;
  shortId: string;
  turnId: TurnId;
  passId: PassId;
  roomId: RoomId;
  /** The event that the turn's thread hangs on. */
  root: MatrixEventId;
}

/** A command that waits, with its card. */
export interface WaitingCommand {
  readonly card: Shown;
  readonly id: ExecutionId;
  readonly approvalId: ApprovalId;
  readonly shortId: string;
  approval(): Promise<Approval>;
  execution(): Promise<Execution>;
}

/** Opens a world whose handler and projector are the real ones. */
export async function openRooms(settings: Settings = {}): Promise<BotWorld> {
  const world = await BotWorld.open();
  connect(world, settings);
  return world;
}

interface Settings {
  mask?: (text: string) => string;
  /** Default UTC. */
  timeZone?: string;
}

/** Gives a world a handler and a projector of their own, as a start of the program does. */
export function connect(world: BotWorld, { mask, timeZone = 'UTC' }: Settings = {}): void {
  world.projector = new Projector({
    database: world.database,
    feed: world.feed,
    operators: world.operators,
    timeZone,
    streaming: false,
    mask,
  });
  world.handler = createHandler({
    operators: world.operators,
    languages: ['en'],
    botUserId: asId<UserId>('@nomos:example.org'),
    botName: 'Nomos',
    timeZone,
  });
}

/** A message in the lobby opens a task, and the agent begins to work on it. */
export async function openRoomTask(
  world: BotWorld,
  text = 'look after it',
  by: UserId = ANN,
): Promise<RoomTask> {
  const eventId = await world.say(LOBBY, text, { by });
  const message = await world.database.read.message.findUniqueOrThrow({
    where: { eventId },
    include: { session: true },
  });
  const sessionId = asId<SessionId>(message.sessionId);
  const turnId = asId<TurnId>(message.turnId);
  return {
    sessionId,
    shortId: message.session.shortId,
    turnId,
    passId: await startPass(world, sessionId, turnId),
    roomId: asId<RoomId>(message.session.roomId ?? ''),
    root: world.card(cardKey.turn(turnId)).eventId,
  };
}

/** The agent's side: a pass of the turn starts and reads what is there. */
export async function startPass(
  world: BotWorld,
  sessionId: SessionId,
  turnId: TurnId,
): Promise<PassId> {
  return world.write(async (unit) => {
    const passId = await queuePass(unit, { sessionId, turnId, cause: 'message' });
    await unit.db.pass.updateMany({
      where: { sessionId, state: 'running' },
      data: { state: 'done' },
    });
    await unit.db.pass.update({
      where: { id: passId },
      data: { state: 'running', startedAt: new Date() },
    });
    await unit.db.message.updateMany({
      where: { turnId, takenInAt: null },
      data: { takenInAt: new Date() },
    });
    return passId;
  });
}

/** The agent's side: the pass ends with words. */
export async function endPassWith(world: BotWorld, task: RoomTask, answer: string): Promise<void> {
  await world.write(async (unit) => {
    await unit.db.pass.update({ where: { id: task.passId }, data: { answer } });
    await endPass(unit, { passId: task.passId, state: 'done' });
  });
  await world.settle();
}

/** The agent's side: it asks for a command that has to wait. Its card is shown unless `unseen`. */
export async function askFor(
  world: BotWorld,
  task: RoomTask,
  command: string,
  options: { target?: string; purpose?: string; unseen?: boolean; preview?: Preview } = {},
): Promise<WaitingCommand> {
  const outcome = await world.write((unit) =>
    requestExecution(unit, {
      sessionId: task.sessionId,
      turnId: task.turnId,
      passId: task.passId,
      toolCallId: null,
      target: options.target ?? 'web-1',
      command,
      purpose: options.purpose ?? 'For the test',
      preview: options.preview,
    }),
  );
  if (outcome.kind !== 'waiting') throw new Error(`it should wait, and is ${outcome.kind}`);
  const { approvalId, executionId } = outcome;
  if (options.unseen !== true) await world.settle();
  const execution = (): Promise<Execution> =>
    world.database.read.execution.findUniqueOrThrow({ where: { id: executionId } });
  const { shortId } = await execution();
  return {
    get card() {
      return world.card(`execution:${executionId}`);
    },
    id: executionId,
    approvalId,
    shortId,
    approval: () => world.database.read.approval.findUniqueOrThrow({ where: { id: approvalId } }),
    execution,
  };
}

/** What a test of one world says most often, without naming the world each time. */
export function inRooms(world: () => BotWorld) {
  const waiting = async (
    task: RoomTask,
    command = 'systemctl restart nginx',
    options: { purpose?: string; target?: string } = {},
  ): Promise<WaitingCommand> =>
    askFor(world(), task, command, { purpose: 'Restart nginx', ...options });
  return {
    task: async (text = 'check the disks', by: UserId = ANN): Promise<RoomTask> =>
      openRoomTask(world(), text, by),
    startPass: async (sessionId: SessionId, turnId: TurnId): Promise<PassId> =>
      startPass(world(), sessionId, turnId),
    waiting,
    restart: async (task: RoomTask, target = 'web-1'): Promise<WaitingCommand> =>
      waiting(task, 'systemctl restart nginx', { target }),
    deletion: async (
      task: RoomTask,
      path = '/srv/old',
      target = 'nas-1',
    ): Promise<WaitingCommand> =>
      waiting(task, `rm -rf ${path}`, { target, purpose: `Delete ${path}` }),
    messagesOf: async (turnId: TurnId): Promise<string[]> => saidIn(world(), turnId),
    turnsOf: async (sessionId: SessionId): Promise<number> =>
      world().database.read.turn.count({ where: { sessionId } }),
    /** Another turn of the task, as an operator opens it on the main timeline, with a pass of its own. */
    secondTurn: async (task: RoomTask): Promise<RoomTask> => {
      const root = await world().say(task.roomId, 'and look at db-1');
      const turn = await world().database.read.turn.findUniqueOrThrow({
        where: { rootEvent: root },
      });
      const turnId = asId<TurnId>(turn.id);
      return { ...task, turnId, root, passId: await startPass(world(), task.sessionId, turnId) };
    },
  };
}

/** What operators have said in a turn, as the agent reads it. */
export async function saidIn(world: BotWorld, turnId: TurnId): Promise<string[]> {
  const rows = await world.database.read.message.findMany({
    where: { turnId, role: 'operator' },
    orderBy: { seq: 'asc' },
  });
  return rows.map(({ text }) => text);
}

/** What Nomos has told the agent in a turn. */
export async function notesIn(world: BotWorld, turnId: TurnId): Promise<string[]> {
  const rows = await world.database.read.message.findMany({
    where: { turnId, role: 'note' },
    orderBy: { seq: 'asc' },
  });
  return rows.map(({ text }) => text);
}
