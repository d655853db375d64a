import type { Unit } from '../db/database.ts';
import {
  newId,
  newShortId,
  type EntityId,
  type MatrixEventId,
  type MessageId,
  type SessionId,
  type TurnId,
} from '../ids.ts';
import type { NewAttachment } from './attachments.ts';
import { receiveMessage } from './messages.ts';
import { openTurn } from './turns.ts';

/** Where a task came from: the message that asked for it, so that the link can be put there. */
export interface TaskOrigin {
  kind: 'lobby' | 'direct' | 'api' | 'mcp' | 'schedule';
  roomId?: string | undefined;
  eventId?: MatrixEventId | undefined;
  /** The id of the API token whose client works here by itself (H6). */
  token?: string | undefined;
  /** What the link answers, where that is not the message that asked: a card that was tapped. */
  linkTo?: MatrixEventId | undefined;
}

/** A task that was just opened. */
export interface OpenedTask {
  sessionId: SessionId;
  turnId: TurnId;
  messageId: MessageId;
}

/**
 * Opens a task (T2): the session row, its `task:<short id>` entity, the first turn and the first message, with a pass
 * queued for it. The room is made by whoever reads `session.created`.
 */
export async function openTask(
  unit: Unit,
  args: {
    by: string;
    text: string;
    origin: TaskOrigin;
    attachments?: readonly NewAttachment[] | undefined;
  },
): Promise<OpenedTask> {
  const sessionId = await openSession(unit, args);
  const turnId = await openTurn(unit, {
    sessionId,
    cause:
      args.origin.kind === 'schedule' || args.origin.kind === 'api' ? args.origin.kind : 'operator',
  });
  const { messageId } = await receiveMessage(unit, {
    sessionId,
    turnId,
    text: args.text,
    sender: args.by,
    eventId: args.origin.eventId,
    attachments: args.attachments,
  });
  return { sessionId, turnId, messageId };
}

/** The session row of a task with its entity, without a turn. */
export async function openSession(
  unit: Unit,
  args: { by: string; origin: TaskOrigin; title?: string | undefined },
): Promise<SessionId> {
  const sessionId = newId<SessionId>();
  const shortId = await freeShortId(unit);
  const entityId = await taskEntity(unit, shortId);
  await unit.db.session.create({
    data: {
      id: sessionId,
      shortId,
      entityId,
      title: args.title ?? null,
      createdBy: args.by,
      origin: { ...args.origin },
    },
  });
  unit.emit({ type: 'session.created', sessionId, refId: sessionId });
  unit.audit({
    actor: args.by,
    action: 'task.opened',
    sessionId,
    subject: `task:${shortId}`,
    data: { via: args.origin.kind },
  });
  return sessionId;
}

async function freeShortId(unit: Unit): Promise<string> {
  for (;;) {
    const shortId = newShortId();
    const taken = await unit.db.session.findUnique({ where: { shortId }, select: { id: true } });
    if (taken === null) return shortId;
  }
}

/** The task's own node in the graph. Without the type in the ontology there is none, and nothing hangs on it. */
async function taskEntity(unit: Unit, shortId: string): Promise<string | null> {
  const type = await unit.db.entityType.findUnique({ where: { name: 'task' } });
  if (type === null) return null;
  const id = newId<EntityId>();
  await unit.db.entity.create({
    data: {
      id,
      slug: `task:${shortId}`,
      type: 'task',
      name: shortId,
      state: 'active',
      attributes: {},
      source: 'task',
    },
  });
  return id;
}
