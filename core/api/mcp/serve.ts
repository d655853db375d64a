import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import type { Context } from 'koa';
import { errorText } from '../../errors.ts';
import { log } from '../../log.ts';
import { maskDeep } from '../mask-deep.ts';
import { callTool, toolsFor, type Caller } from './call.ts';

const INSTRUCTIONS =
  'Tools for a fleet of servers that people run with Nomos. Reading is free; a command that changes something waits for an operator, who decides in a chat room and never here: run then says that it waits, and get_execution_status what became of it. complete_task says that you are done, with what is now true.';

/** Answers one MCP request over HTTP; nothing is kept between two of them, so any process of the API can answer the next. */
export async function serveMcp(ctx: Context, caller: Caller, body: unknown): Promise<void> {
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  const handler = createMcpHandler(() => serverFor(caller, gone.signal), {
    onerror: (error) =>
      log.info({ error: caller.deps.mask(errorText(error)) }, 'an MCP request was refused'),
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(ctx.req.headers)) {
    // Who it is was settled before; the library need not know the token.
    if (name !== 'authorization' && typeof value === 'string') headers.set(name, value);
  }
  const request = new Request('http://nomos.invalid/mcp', {
    method: 'POST',
    headers,
    signal: gone.signal,
  });
  const response = await handler.fetch(request, { parsedBody: body });
  ctx.respond = false;
  ctx.res.writeHead(response.status, Object.fromEntries(response.headers));
  try {
    for await (const chunk of response.body ?? []) ctx.res.write(chunk);
  } catch (error) {
    if (!gone.signal.aborted) log.warn({ error: errorText(error) }, 'an MCP answer broke off');
  } finally {
    ctx.res.end();
    await handler.close();
  }
}

function serverFor(caller: Caller, gone: AbortSignal): Server {
  const server = new Server(
    { name: 'nomos', version: caller.deps.version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: toolsFor(caller.token).map(({ name, description, parameters, kind }) => ({
      name,
      description,
      inputSchema: { ...parameters, type: 'object' as const },
      annotations: { readOnlyHint: kind === 'read', openWorldHint: name === 'http_get' },
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const signal = AbortSignal.any([gone, mcpReq.signal]);
    const outcome = await callTool(caller, params.name, params.arguments, signal);
    const value = maskDeep(outcome.value, caller.deps.mask);
    return { content: [{ type: 'text', text: JSON.stringify(value) }], isError: !outcome.ok };
  });
  return server;
}
