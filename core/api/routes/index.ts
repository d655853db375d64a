import type { Route } from '../route.ts';
import { approvalRoutes } from './approvals.ts';
import { auditRoutes } from './audit.ts';
import { executionRoutes } from './executions.ts';
import { fleetRoutes } from './fleet.ts';
import { healthRoutes } from './health.ts';
import { knowledgeRoutes } from './knowledge.ts';
import { mcpRoute } from './mcp.ts';
import { metricsRoute } from './metrics.ts';
import { openApiRoute } from './openapi.ts';
import { questionRoutes } from './questions.ts';
import { runbookRoutes } from './runbooks.ts';
import { recordRoutes } from './record.ts';
import { scheduleRoutes } from './schedules.ts';
import { sessionChangeRoutes } from './session-changes.ts';
import { sessionRoutes } from './sessions.ts';
import { signalRoutes } from './signals.ts';
import { settingsRoutes } from './settings.ts';
import { streamRoute } from './stream.ts';

/** The routes that need no token. There is nothing here but health (H3). */
export const openRoutes: readonly Route[] = healthRoutes;

/** The routes behind a token, in the order in which the documents show them. */
export const ROUTES: readonly Route[] = [
  ...sessionRoutes,
  ...sessionChangeRoutes,
  ...questionRoutes,
  ...approvalRoutes,
  ...executionRoutes,
  ...scheduleRoutes,
  ...knowledgeRoutes,
  ...runbookRoutes,
  ...fleetRoutes,
  ...recordRoutes,
  streamRoute,
  ...signalRoutes,
  ...auditRoutes,
  ...settingsRoutes,
  metricsRoute,
  mcpRoute,
  openApiRoute(() => [...openRoutes, ...ROUTES]),
];
