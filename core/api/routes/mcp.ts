import { z } from 'zod';
import { actorOf } from '../actor.ts';
import { readBody } from '../body.ts';
import { serveMcp } from '../mcp/serve.ts';
import { rawRoute, type Route } from '../route.ts';

const message = z.looseObject({ jsonrpc: z.literal('2.0') });
const body = z.union([message, z.array(message).min(1).max(50)]);

/** The fleet tools over the Model Context Protocol (H6). */
export const mcpRoute: Route = rawRoute({
  method: 'post',
  path: '/mcp',
  tag: 'system',
  summary: 'The fleet tools over the Model Context Protocol',
  notes:
    'Streamable HTTP without sessions; for MCP clients, with the token as bearer. Tools that look take the scope read, all others operate. What changes something belongs to a task of its own, whose room shows it, and waits for an operator there: nothing is approved over MCP.',
  scopes: ['read', 'operate'],
  media: 'application/json',
  body,
  async serve(ctx, { deps }) {
    const given = await readBody(ctx, body);
    const caller = { deps, token: ctx.state['token'], actor: () => actorOf(ctx, deps.operators) };
    await serveMcp(ctx, caller, given);
  },
});
