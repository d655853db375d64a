import type Router from '@koa/router';
import { verifyAudit } from '../../audit/verify.ts';
import type { ApiDeps } from '../app.ts';
import { needsScope } from '../auth.ts';

/** The audit log's own check (R15). It reads the whole log: for a look now and then, not for a probe. */
export function auditRoutes(router: Router, deps: ApiDeps): void {
  router.get('/api/v1/audit/verify', needsScope('read'), async (ctx) => {
    const { entries, broken } = await verifyAudit(deps.database);
    ctx.body = { ok: broken === null, entries, broken };
  });
}
