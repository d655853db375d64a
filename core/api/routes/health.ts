import type Router from '@koa/router';
import type { ApiDeps } from '../app.ts';

/** A sync older than this is no sign of life: the long poll alone takes up to 30 s (H5). */
const SYNC_STALE_MS = 90_000;

/** `/healthz`: the process answers. `/readyz`: what it needs answers too, part by part. The only routes without a token. */
export function healthRoutes(router: Router, deps: ApiDeps): void {
  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok', version: deps.version };
  });

  router.get('/readyz', async (ctx) => {
    const syncAgeMs = await syncAge(deps);
    const parts = {
      database: await databaseAnswers(deps),
      redis: deps.redisReady(),
      homeserver: syncAgeMs === undefined ? undefined : syncAgeMs < SYNC_STALE_MS,
    };
    const ready = Object.values(parts).every((part) => part !== false);
    ctx.status = ready ? 200 : 503;
    ctx.body = {
      status: ready ? 'ready' : 'not ready',
      ...Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)),
      ...(syncAgeMs === undefined ? {} : { syncAgeMs }),
    };
  });
}

async function databaseAnswers(deps: ApiDeps): Promise<boolean> {
  try {
    await deps.database.read.$queryRaw`SELECT 1`;
    return true;
  } catch {
    // The answer says it; who watches readiness has the log for the reason.
    return false;
  }
}

/** How long ago the bot, in whichever process, last heard from its homeserver; undefined before the first time. */
async function syncAge(deps: ApiDeps): Promise<number | undefined> {
  try {
    const rows = await deps.database.read.$queryRaw<Array<{ age: number | null }>>`
      SELECT extract(epoch FROM clock_timestamp() - max(updated_at))::float8 * 1000 AS age
      FROM matrix_state WHERE key LIKE 'sync%'`;
    const age = rows[0]?.age ?? undefined;
    return age === undefined ? undefined : Math.max(0, Math.round(age));
  } catch {
    // Told as the database's failure already.
    return undefined;
  }
}
