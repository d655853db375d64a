import { z } from 'zod';
import { agentActivity } from '../tasks/activity.ts';
import { formatDuration } from '../text/duration.ts';
import { findEntity } from './describe-entity.ts';
import { defineTool } from './tool.ts';

/** What the agent itself did lately. */
export const getAgentActivityTool = defineTool({
  name: 'get_agent_activity',
  description:
    'What you did yourself lately, over all tasks or in this one: calls by tool with their failures, and the newest calls with task, entity and duration. Take it when you are asked what was done, or to see whether something was looked at already.',
  kind: 'read',
  input: z.strictObject({
    hours: z.int().min(1).max(720).default(24).describe('How far back. Default 24.'),
    this_task: z.boolean().default(false).describe('Only this task.'),
    slug: z.string().min(1).optional().describe('Only calls about this entity.'),
    limit: z.int().min(1).max(100).default(30),
  }),
  entity: ({ slug }) => slug,
  async handler({ db, sessionId, toolCallId }, { hours, this_task, slug, limit }) {
    const entity = slug === undefined ? undefined : (await findEntity(db, slug)).slug;
    const { byTool, calls } = await agentActivity(db, {
      hours,
      limit,
      entity,
      sessionId: this_task ? sessionId : undefined,
      except: toolCallId,
    });
    const now = Date.now();
    return {
      ok: true,
      value: {
        hours,
        calls: byTool.reduce((sum, { calls: count }) => sum + count, 0),
        by_tool: byTool,
        newest: calls.map((call) => ({
          when: `${formatDuration(now - call.at.getTime())} ago`,
          task: call.task,
          tool: call.tool,
          ...(call.entity === null ? {} : { entity: call.entity }),
          ended: call.success === false ? 'failed' : call.state,
          ...(call.durationMs === null ? {} : { duration_ms: call.durationMs }),
        })),
      },
      ...(entity === undefined ? {} : { entity }),
    };
  },
});
