import type { Database } from '../../core/db/database.ts';
import type { LoggedEvent } from '../../core/events/types.ts';
import { asId, type RoomId } from '../../core/ids.ts';
import type { Ephemeral } from '../inbox/types.ts';

/** Shows typing in a task's room while a pass of it runs (C8). Nothing is kept: after a restart the next look puts it right. */
export class TypingLights {
  readonly #database: Database;
  readonly #ephemeral: Ephemeral | undefined;
  readonly #lit = new Set<RoomId>();

  constructor(database: Database, ephemeral: Ephemeral | undefined) {
    this.#database = database;
    this.#ephemeral = ephemeral;
  }

  /** Looks again if passes began or ended, or a room came to be. */
  async follow(events: readonly LoggedEvent[]): Promise<void> {
    const matters = events.some(
      ({ type }) => type === 'pass.started' || type === 'pass.ended' || type === 'session.changed',
    );
    if (matters) await this.refresh();
  }

  /** Lights the rooms in which a pass runs and puts out the others. The homeserver forgets by itself after 30 s. */
  async refresh(): Promise<void> {
    if (this.#ephemeral === undefined) return;
    const running = await this.#database.read.session.findMany({
      where: { roomId: { not: null }, archivedAt: null, passes: { some: { state: 'running' } } },
      select: { roomId: true },
    });
    const rooms = new Set(running.map(({ roomId }) => asId<RoomId>(roomId ?? '')));
    for (const room of this.#lit) {
      if (!rooms.has(room)) this.#ephemeral.setTyping(room, false);
    }
    this.#lit.clear();
    for (const room of rooms) {
      this.#ephemeral.setTyping(room, true);
      this.#lit.add(room);
    }
  }
}
