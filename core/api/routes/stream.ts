import type { Context } from 'koa';
import { z } from 'zod';
import { lastEventId } from '../../events/subscribe.ts';
import { NotFoundError } from '../../errors.ts';
import type { SessionId } from '../../ids.ts';
import { count, rowId } from '../fields.ts';
import { ApiError } from '../problem.ts';
import { rawRoute, type Route } from '../route.ts';

const position = count({ min: 0, max: Number.MAX_SAFE_INTEGER });

/** The event log as a stream (H2). */
export const streamRoute: Route = rawRoute({
  method: 'get',
  path: '/api/v1/events/stream',
  tag: 'record',
  summary: 'The event log as server-sent events',
  notes:
    'Each event has its id in the log and, as data, the same JSON as in `GET /api/v1/events`; there is no `event:` name. It goes on after `Last-Event-ID` or `after`, else it begins with what comes next. A comment comes every 15 s. It ends when the token is revoked, when Nomos stops, and when the reader takes nothing for 30 s: come back with the last id, and nothing is missed.',
  scopes: ['read'],
  media: 'text/event-stream',
  query: z.strictObject({
    session: rowId<SessionId>('task').optional().describe('Only the events of this task.'),
    after: position
      .optional()
      .describe('The id of the last event that is known. `Last-Event-ID` goes before it.'),
  }),
  problems: ['not_found', 'too_many_streams'],
  async serve(ctx, { deps, query: { session, after } }) {
    const tokenId: string = ctx.state['token'].id;
    const newest = await lastEventId(deps.database);
    const cursor = cursorOf(ctx, after) ?? newest;
    if (cursor > newest) {
      throw new ApiError(
        'request_invalid',
        `There is no event ${cursor}; the newest is ${newest}.`,
        {
          hint: 'That id comes from another database. Begin without it.',
        },
      );
    }
    if (session !== undefined) {
      const known = await deps.database.read.session.count({ where: { id: session } });
      if (known === 0) throw new NotFoundError('task', session);
    }
    deps.streams.checkRoom(tokenId);
    ctx.respond = false;
    ctx.res.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      // What stands between must hand on each event as it comes.
      'X-Accel-Buffering': 'no',
      // Its connection carries nothing after it, and must not hold up the end of the process.
      Connection: 'close',
    });
    if (ctx.method === 'HEAD') ctx.res.end();
    else await deps.streams.serve(ctx.res, { tokenId, cursor, session });
  },
});

function cursorOf(ctx: Context, after: number | undefined): bigint | undefined {
  const header = ctx.get('Last-Event-ID');
  if (header === '') return after === undefined ? undefined : BigInt(after);
  const read = position.safeParse(header);
  if (!read.success) {
    throw new ApiError('request_invalid', 'Last-Event-ID: is no id of an event');
  }
  return BigInt(read.data);
}
