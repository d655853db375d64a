import { z } from 'zod';
import type { SessionId } from '../../ids.ts';
import { archiveTask } from '../../tasks/archive.ts';
import { deleteTask } from '../../tasks/delete.ts';
import { lockSession } from '../../tasks/lock.ts';
import { receiveMessage } from '../../tasks/messages.ts';
import { openTask } from '../../tasks/open.ts';
import { resumeTask } from '../../tasks/resume.ts';
import { requestStop } from '../../tasks/stop.ts';
import { openTurn } from '../../tasks/turns.ts';
import { act } from '../actor.ts';
import { idOut, rowId, words } from '../fields.ts';
import { ApiError } from '../problem.ts';
import { changeRoute, type Route } from '../route.ts';

/** As much as one Matrix message could carry. */
const MAX_TEXT = 32_000;

const textBody = z.strictObject({ text: words(MAX_TEXT) });
const byId = z.strictObject({ id: rowId<SessionId>('task') });

/** What changes a task: start one, write to it, stop its work, delete it (H1). Each is the same verb as a message or tap in a room. */
export const sessionChangeRoutes: readonly Route[] = [
  changeRoute({
    method: 'post',
    path: '/api/v1/sessions',
    tag: 'tasks',
    summary: 'Start a task',
    notes: 'It gets a room of its own, as a message in the lobby would give it.',
    scope: 'operate',
    body: textBody,
    answer: z.object({ id: idOut, shortId: z.string(), turnId: idOut }),
    status: 201,
    location: ({ id }) => `/api/v1/sessions/${id}`,
    async handle({ deps, body: { text }, actor }) {
      return act(deps.database, actor, { action: 'session.start' }, async (unit) => {
        const task = await openTask(unit, {
          by: actor.operator.userId,
          text,
          origin: { kind: 'api' },
        });
        const row = await unit.db.session.findUniqueOrThrow({
          where: { id: task.sessionId },
          select: { shortId: true },
        });
        return { id: task.sessionId, shortId: row.shortId, turnId: task.turnId };
      });
    },
  }),
  changeRoute({
    method: 'post',
    path: '/api/v1/sessions/:id/message',
    tag: 'tasks',
    summary: 'Write to a task',
    notes:
      'Opens a turn, as a message on the main timeline of its room would (T3). A finished task opens again. A message never decides anything, whatever it says.',
    scope: 'operate',
    params: byId,
    body: textBody,
    answer: z.object({ turnId: idOut, messageId: idOut }),
    status: 201,
    problems: ['task_archived'],
    async handle({ deps, params: { id: sessionId }, body: { text }, actor }) {
      return act(
        deps.database,
        actor,
        { action: 'session.message', subject: sessionId },
        async (unit) => {
          await lockSession(unit, sessionId);
          const turnId = await openTurn(unit, { sessionId, cause: 'api' });
          const { messageId } = await receiveMessage(unit, {
            sessionId,
            turnId,
            text,
            sender: actor.operator.userId,
          });
          return { turnId, messageId };
        },
      );
    },
  }),
  changeRoute({
    method: 'post',
    path: '/api/v1/sessions/:id/stop',
    tag: 'tasks',
    summary: 'End the agent’s work at its next step',
    notes: 'Commands that run go on; cancel those.',
    scope: 'operate',
    params: byId,
    answer: z.object({ stopped: z.int().describe('How many passes.') }),
    async handle({ deps, params: { id: sessionId }, actor }) {
      return act(
        deps.database,
        actor,
        { action: 'session.stop', subject: sessionId },
        async (unit) => requestStop(unit, { sessionId, by: actor.operator.userId }),
      );
    },
  }),
  changeRoute({
    method: 'post',
    path: '/api/v1/sessions/:id/resume',
    tag: 'tasks',
    summary: 'Go on with a task that was paused or looks stuck',
    notes:
      'As `!continue` does (C9). `working`: it is at work already. `just_resumed`: that was done less than 30 s ago. `ended`: write to it, and it opens again.',
    scope: 'operate',
    role: 'approver',
    params: byId,
    answer: z.object({ result: z.enum(['resumed', 'working', 'just_resumed', 'ended']) }),
    problems: ['task_archived'],
    async handle({ deps, params: { id: sessionId }, actor }) {
      const result = await act(
        deps.database,
        actor,
        { action: 'session.resume', subject: sessionId },
        (unit) => resumeTask(unit, { sessionId, by: actor.operator.userId }),
      );
      if (result === 'archived') throw new ApiError('task_archived', 'That task is archived.');
      return { result };
    },
  }),
  changeRoute({
    method: 'post',
    path: '/api/v1/sessions/:id/archive',
    tag: 'tasks',
    summary: 'Put a task away',
    notes:
      'Its room is left; what it knew, ran and was granted stays on record. One that has not ended is stopped and ends as done in part.',
    scope: 'operate',
    role: 'approver',
    params: byId,
    answer: z.object({ result: z.enum(['archived', 'already']) }),
    problems: ['task_busy'],
    async handle({ deps, params: { id: sessionId }, actor }) {
      const result = await act(
        deps.database,
        actor,
        { action: 'session.archive', subject: sessionId },
        (unit) => archiveTask(unit, { sessionId, by: actor.operator.userId }),
      );
      return { result };
    },
  }),
  // What cannot be brought back takes an admin.
  changeRoute({
    method: 'delete',
    path: '/api/v1/sessions/:id',
    tag: 'tasks',
    summary: 'Delete an archived task for good',
    notes:
      'Its transcript, plan and questions, its own node in the graph, and what the bot kept of its room. Knowledge, executions, approvals and the audit log stay.',
    scope: 'operate',
    role: 'admin',
    params: byId,
    answer: z.object({ result: z.literal('deleted') }),
    problems: ['task_not_archived', 'task_busy'],
    async handle({ deps, params: { id: sessionId }, actor }) {
      await act(
        deps.database,
        actor,
        { action: 'session.delete', subject: sessionId },
        async (unit) => deleteTask(unit, { sessionId, by: actor.operator.userId }),
      );
      return { result: 'deleted' as const };
    },
  }),
];
