import { request as send } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';

/** Belongs to one connection, or to this page alone. */
const NOT_PASSED_ON = new Set([
  'connection',
  'cookie',
  'host',
  'keep-alive',
  'origin',
  'referer',
  'upgrade',
]);

/**
 * Hands a request for this path of the homeserver on, so that the page needs one address only, also through a tunnel.
 * `url` is the request's own, parsed. Only its path and query are used: a request line may name another host
 * (`GET //evil.example/_matrix/…`), whose answer would be a page of this origin, where the operator's session is kept.
 *
 * @throws if the homeserver cannot be reached before it began to answer
 */
export async function proxy(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  homeserverUrl: string,
): Promise<void> {
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !NOT_PASSED_ON.has(name)),
  );
  const onwardUrl = new URL(homeserverUrl);
  onwardUrl.pathname = url.pathname;
  onwardUrl.search = url.search;
  const onward = send(onwardUrl, { method: request.method, headers });
  // A browser that leaves ends its long polls.
  response.once('close', () => onward.destroy());
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    onward.once('response', resolve);
    onward.once('error', reject);
  });
  request.pipe(onward);
  let answer: IncomingMessage;
  try {
    answer = await answered;
  } catch (error) {
    if (response.destroyed) return;
    throw error;
  }
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value === undefined || name.startsWith('access-control-') || name === 'connection')
      continue;
    response.setHeader(name, value);
  }
  response.writeHead(answer.statusCode ?? 502);
  try {
    await pipeline(answer, response);
  } catch (error) {
    if (!response.destroyed) throw error;
  }
}
