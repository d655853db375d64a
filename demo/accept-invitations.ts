import { z } from 'zod';

const POLL_MS = 30_000;
const RETRY_MS = 2_000;
/** Nothing of the rooms themselves: only invitations matter here. */
const FILTER = JSON.stringify({
  presence: { types: [] },
  account_data: { types: [] },
  room: { timeline: { limit: 1, types: [] }, state: { types: [] }, ephemeral: { types: [] } },
});

const syncShape = z.looseObject({
  next_batch: z.string(),
  rooms: z
    .looseObject({
      invite: z
        .record(
          z.string(),
          z.looseObject({
            invite_state: z.looseObject({
              events: z.array(
                z.looseObject({ type: z.string(), sender: z.string(), state_key: z.string() }),
              ),
            }),
          }),
        )
        .optional(),
    })
    .optional(),
});

/**
 * Accepts the bot's invitations for the operator of the embedded homeserver, so that the chat page opens on rooms and not on
 * questions. Invitations of anyone else are left alone. Gives what ends it.
 */
export function acceptInvitations(
  account: { url: string; userId: string; accessToken: string },
  botUserId: string,
): () => Promise<void> {
  const stop = new AbortController();
  const call = async (method: string, path: string): Promise<unknown> => {
    const response = await fetch(`${account.url}/_matrix/client/v3/${path}`, {
      method,
      headers: { authorization: `Bearer ${account.accessToken}` },
      ...(method === 'POST' ? { body: '{}' } : {}),
      signal: stop.signal,
    });
    if (!response.ok) throw new Error(`The homeserver answered ${response.status} to ${path}`);
    return response.json();
  };
  const once = async (since: string | undefined): Promise<string> => {
    const query = new URLSearchParams({ filter: FILTER, timeout: since ? String(POLL_MS) : '0' });
    if (since !== undefined) query.set('since', since);
    const answer = syncShape.parse(await call('GET', `sync?${query.toString()}`));
    for (const [roomId, invited] of Object.entries(answer.rooms?.invite ?? {})) {
      const invitation = invited.invite_state.events.find(
        (event) => event.type === 'm.room.member' && event.state_key === account.userId,
      );
      if (invitation?.sender === botUserId)
        await call('POST', `join/${encodeURIComponent(roomId)}`);
    }
    return answer.next_batch;
  };
  const run = async (): Promise<void> => {
    let since: string | undefined;
    while (!stop.signal.aborted) {
      try {
        since = await once(since);
      } catch {
        // The homeserver is away or busy: what is not accepted now is accepted later, or by hand.
        if (!stop.signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  };
  const running = run();
  return async () => {
    stop.abort();
    await running;
  };
}
