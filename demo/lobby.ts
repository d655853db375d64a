import { Database } from '../core/db/database.ts';

const WAIT_MS = 60_000;
const LOOK_MS = 200;

/** Waits for the lobby to be there, which the bot makes at its first start. Rejects when the program fails before. */
export async function lobbyRoom(databaseUrl: string, failed: Promise<Error>): Promise<string> {
  const database = await Database.connect(databaseUrl, { connections: 1 });
  try {
    const giveUp = failed.then((error) => {
      throw error;
    });
    giveUp.catch(() => {});
    for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
      const room = await database.read.matrixRoom.findFirst({
        where: { kind: 'lobby', membership: 'join' },
        select: { roomId: true },
      });
      if (room !== null) return room.roomId;
      await Promise.race([new Promise((resolve) => setTimeout(resolve, LOOK_MS)), giveUp]);
    }
    throw new Error(`The bot made no lobby within ${WAIT_MS / 1000} s; the log says why.`);
  } finally {
    await database.close();
  }
}
