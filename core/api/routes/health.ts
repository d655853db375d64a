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
    const syncAgeMs = deps.health.syncAgeMs();
    const parts = {
      database: await databaseAnswers(deps),
      redis: deps.health.redisReady(),
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
