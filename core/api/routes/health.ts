import { z } from 'zod';
import type { ApiDeps } from '../app.ts';
import { rawRoute, type Route } from '../route.ts';

/** A sync older than this is no sign of life: the long poll alone takes up to 30 s (H5). */
const SYNC_STALE_MS = 90_000;
/** A database that has not answered by then does not. */
const ANSWER_MS = 3_000;

interface Readiness {
  ready: boolean;
  body: Record<string, unknown>;
}

const looking = new WeakMap<ApiDeps, Promise<Readiness>>();

/**
 * `/healthz`: the process answers. `/readyz`: what it needs answers too, part by part. The only routes without a token; they
 * tell nothing else, and looks at the same time are one look.
 */
export const healthRoutes: readonly Route[] = [
  rawRoute({
    method: 'get',
    path: '/healthz',
    tag: 'system',
    summary: 'Whether the process answers',
    scopes: [],
    media: 'application/json',
    answer: z.object({ status: z.literal('ok') }),
    async serve(ctx) {
      ctx.body = { status: 'ok' };
    },
  }),
  rawRoute({
    method: 'get',
    path: '/readyz',
    tag: 'system',
    summary: 'Whether what it needs answers too',
    notes: '503 with the same body when it is not ready.',
    scopes: [],
    media: 'application/json',
    answer: z.object({
      status: z.enum(['ready', 'not ready']),
      database: z.boolean(),
      redis: z.boolean().optional().describe('Only in a process with the role jobs.'),
      homeserver: z.boolean().describe('Whether the last sync is younger than 90 s.'),
      syncAgeMs: z.int().nullable(),
    }),
    async serve(ctx, { deps }) {
      const look = looking.get(deps) ?? readiness(deps).finally(() => looking.delete(deps));
      looking.set(deps, look);
      const { ready, body } = await look;
      ctx.status = ready ? 200 : 503;
      ctx.body = body;
    },
  }),
];

async function readiness(deps: ApiDeps): Promise<Readiness> {
  const found = await within(ANSWER_MS, syncAge(deps));
  const syncAgeMs = found === 'late' || found === 'failed' ? null : found;
  const parts = {
    database: found !== 'late' && found !== 'failed',
    redis: deps.redisReady(),
    homeserver: syncAgeMs !== null && syncAgeMs < SYNC_STALE_MS,
  };
  const ready = Object.values(parts).every((part) => part !== false);
  return {
    ready,
    body: {
      status: ready ? 'ready' : 'not ready',
      ...Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)),
      syncAgeMs,
    },
  };
}

/** How long ago the bot, in whichever process, last heard from its homeserver; null before the first time. */
async function syncAge(deps: ApiDeps): Promise<number | null | 'failed'> {
  try {
    const rows = await deps.database.read.$queryRaw<Array<{ age: number | null }>>`
      SELECT extract(epoch FROM clock_timestamp() - max(updated_at))::float8 * 1000 AS age
      FROM matrix_state WHERE key LIKE 'sync:%'`;
    const age = rows[0]?.age ?? null;
    return age === null ? null : Math.max(0, Math.round(age));
  } catch {
    // The answer says it; who watches readiness has the log for the reason.
    return 'failed';
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
