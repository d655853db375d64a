import { askOperatorTool } from './ask-operator.ts';
import { completeTaskTool } from './complete-task.ts';
import { createRelationshipTool } from './create-relationship.ts';
import { explainTool } from './explain.ts';
import { getAgentActivityTool } from './get-agent-activity.ts';
import { getBlastRadiusTool } from './get-blast-radius.ts';
import { getEntityKnowledgeTool } from './get-entity-knowledge.ts';
import { getEntityTool } from './get-entity.ts';
import { getExecutionStatusTool } from './get-execution-status.ts';
import { getHealthSummaryTool } from './get-health-summary.ts';
import { getLxcStateTool } from './get-lxc-state.ts';
import { getRelationsTool } from './get-relations.ts';
import { getRunbookTool } from './get-runbook.ts';
import { getSignalHistoryTool } from './get-signal-history.ts';
import { getStateSnapshotTool } from './get-state-snapshot.ts';
import { getTrendTool } from './get-trend.ts';
import { httpGetTool } from './http-get.ts';
import { listChecksTool } from './list-checks.ts';
import { listEntitiesTool } from './list-entities.ts';
import { listLxcsTool } from './list-lxcs.ts';
import { listPendingApprovalsTool } from './list-pending-approvals.ts';
import { listRunbooksTool } from './list-runbooks.ts';
import { proposePlanTool } from './propose-plan.ts';
import { queryMetricsTool } from './query-metrics.ts';
import { readAttachmentTool } from './read-attachment.ts';
import { ToolRegistry } from './registry.ts';
import { requestExecutionTool } from './request-execution.ts';
import { runTool } from './run.ts';
import { searchKnowledgeTool } from './search-knowledge.ts';
import { setGoalTool } from './set-goal.ts';
import { tailLogTool } from './tail-log.ts';
import { updateEntityAttributesTool } from './update-entity-attributes.ts';
import { updatePlanStepTool } from './update-plan-step.ts';
import { upsertKnowledgeTool } from './upsert-knowledge.ts';

/** All tools of the agent, in the order in which the model sees them. */
export const agentTools = new ToolRegistry([
  listEntitiesTool,
  listLxcsTool,
  getLxcStateTool,
  getEntityTool,
  explainTool,
  getRelationsTool,
  getBlastRadiusTool,
  getTrendTool,
  searchKnowledgeTool,
  getEntityKnowledgeTool,
  listRunbooksTool,
  getRunbookTool,
  httpGetTool,
  getHealthSummaryTool,
  getStateSnapshotTool,
  listChecksTool,
  getSignalHistoryTool,
  queryMetricsTool,
  runTool,
  requestExecutionTool,
  tailLogTool,
  getExecutionStatusTool,
  readAttachmentTool,
  listPendingApprovalsTool,
  getAgentActivityTool,
  setGoalTool,
  proposePlanTool,
  updatePlanStepTool,
  updateEntityAttributesTool,
  createRelationshipTool,
  upsertKnowledgeTool,
  askOperatorTool,
  completeTaskTool,
]);
