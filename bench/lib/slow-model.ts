import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An OpenAI-compatible endpoint that takes its time. */
export interface SlowModel {
  readonly baseUrl: string;
  /** Requests that were answered so far. */
  readonly answered: number;
  stop(): Promise<void>;
}

interface Asked {
  messages: Array<{ role: string }>;
  stream?: boolean;
}

/** Answers each request after `thinkMs`: with a read of the fleet graph until a conversation has `reads` of them, then in words. */
export async function startSlowModel(thinkMs: number, reads: number): Promise<SlowModel> {
  let answered = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'GET') {
        response.end(JSON.stringify({ object: 'list', data: [{ id: 'slow', object: 'model' }] }));
        return;
      }
      setTimeout(() => {
        answered++;
        const asked = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Asked;
        const done = asked.messages.filter(({ role }) => role === 'tool').length;
        answer(response, asked.stream === true, done < reads ? done : undefined);
      }, thinkMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    get answered() {
      return answered;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(response: ServerResponse, streams: boolean, read: number | undefined): void {
  const message =
    read === undefined
      ? { role: 'assistant', content: 'All is well.' }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              index: 0,
              id: `call_${read}`,
              type: 'function',
              function: { name: 'list_entities', arguments: '{"type":["host"]}' },
            },
          ],
        };
  const base = { id: 'slow', model: 'slow', created: 0 };
  const finish_reason = read === undefined ? 'stop' : 'tool_calls';
  const usage = { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 };
  if (!streams) {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        ...base,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason }],
        usage,
      }),
    );
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const chunk = (choices: unknown[], more: object = {}): string =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
  response.end(
    `${chunk([{ index: 0, delta: message, finish_reason: null }])}${chunk([{ index: 0, delta: {}, finish_reason }])}${chunk([], { usage })}data: [DONE]\n\n`,
  );
}
