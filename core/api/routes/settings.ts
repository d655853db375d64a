import { z } from 'zod';
import { isPaused, setPaused } from '../../policy/pause.ts';
import { act } from '../actor.ts';
import { ApiError } from '../problem.ts';
import { changeRoute, lookRoute, type Route } from '../route.ts';

/** The kill switch (P7), for an approver, as `!pause` is; and which version this is. */
export const settingsRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/version',
    tag: 'system',
    summary: 'Which version of Nomos answers',
    answer: z.object({ version: z.string() }),
    handle: ({ deps }) => ({ version: deps.version }),
  }),
  lookRoute({
    path: '/api/v1/settings/pause',
    tag: 'system',
    summary: 'Whether the kill switch is thrown',
    answer: z.object({ paused: z.boolean() }),
    handle: async ({ deps }) => ({ paused: await isPaused(deps.database.read) }),
  }),
  // Throwing it takes a token that may operate; ending it lets more run again, so it takes one that may approve.
  changeRoute({
    method: 'put',
    path: '/api/v1/settings/pause',
    tag: 'system',
    summary: 'Throw the kill switch, or end the pause',
    notes:
      'While paused, every command that changes something waits for an approval, and all grants are closed. To end the pause takes the scope approve.',
    scope: ['operate', 'approve'],
    role: 'approver',
    body: z.strictObject({ paused: z.boolean() }),
    answer: z.object({ paused: z.boolean(), changed: z.boolean() }),
    async handle({ deps, body: { paused }, actor, token }) {
      if (!paused && !token.scopes.includes('approve')) {
        throw new ApiError(
          'scope_missing',
          `The token "${token.name}" may pause, but not end the pause: that takes the scope approve.`,
        );
      }
      const changed = await act(deps.database, actor, { action: 'settings.pause' }, (unit) =>
        setPaused(unit, paused, actor.operator.userId),
      );
      return { paused, changed };
    },
  }),
];
