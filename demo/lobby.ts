import { Database } from '../core/db/database.ts';

const LIMIT_MS = 60_000;
const TELL_EVERY_MS = 15_000;
const LOOK_MS = 200;

/** Waits up to a minute for the lobby, which the bot makes at its first start. Rejects when the program fails before. */
export async function lobbyRoom(databaseUrl: string, failed: Promise<Error>): Promise<string> {
  const late = AbortSignal.timeout(LIMIT_MS);
  const room = await lookFor(databaseUrl, failed, late, () => {});
  if (room !== undefined) return room;
  throw new Error(`The bot made no lobby within ${LIMIT_MS / 1000} s; the log says why.`);
}

/**
 * Waits for the lobby for as long as it takes: the homeserver may be away. Calls `onWait` every 15 s meanwhile. Undefined when
 * `stop` fires first. Rejects when the program fails before.
 */
export async function lookFor(
  databaseUrl: string,
  failed: Promise<Error>,
  stop: AbortSignal,
  onWait: () => void,
): Promise<string | undefined> {
  const database = await Database.connect(databaseUrl, { connections: 1 });
  let failure: Error | undefined;
  const watch = failed.then((error) => void (failure = error));
  try {
    let toldAt = performance.now();
    while (!stop.aborted) {
      const room = await database.read.matrixRoom.findFirst({
        where: { kind: 'lobby', membership: 'join' },
        select: { roomId: true },
      });
      if (room !== null) return room.roomId;
      if (performance.now() - toldAt >= TELL_EVERY_MS) {
        toldAt = performance.now();
        onWait();
      }
      await Promise.race([new Promise((resolve) => setTimeout(resolve, LOOK_MS)), watch]);
      if (failure !== undefined) throw failure;
    }
    return undefined;
  } finally {
    await database.close();
  }
}
