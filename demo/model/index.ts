import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { handle } from './server.ts';

export { DEMO_MODEL } from './server.ts';

/** A running demo model. */
export interface DemoModel {
  /** For `OPENAI_BASE_URL`: ends in `/v1`. Any key will do. */
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/** How fast its answers come in, in milliseconds a word. */
const WORD_MS = 12;

/**
 * Starts the demo model on 127.0.0.1: an OpenAI-compatible endpoint that plays a few real tasks over the agent's tools. It
 * keeps nothing between requests: each answer follows from what the request says was asked, done and found.
 *
 * `port`: default any free one. `wordMs`: the pace of streamed answers, default 12 ms a word. Rejects when the port is
 * taken.
 */
export async function startDemoModel(
  options: { port?: number; wordMs?: number } = {},
): Promise<DemoModel> {
  const wordMs = options.wordMs ?? WORD_MS;
  const server = createServer((incoming, response) => {
    handle(incoming, response, wordMs).catch((error: unknown) => {
      // One bad request harms nothing but itself.
      if (response.headersSent) response.destroy();
      else
        response
          .writeHead(500, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { message: String(error) } }));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
