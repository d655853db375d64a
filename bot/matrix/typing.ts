import type { RoomId } from '../../core/ids.ts';
import type { Ephemeral } from '../inbox/types.ts';

/** Sent again only after so long: the homeserver keeps it for `timeoutMs`, and each notice costs it as much as a message. */
const FRESH_MS = 8_000;
const TIMEOUT_MS = 30_000;

/** Shows typing (C8). Each room's notices go one after another, so that an end never comes before its beginning. */
export class TypingNotices implements Ephemeral {
  readonly #put: (roomId: RoomId, body: { typing: boolean; timeout?: number }) => Promise<void>;
  readonly #lit = new Map<RoomId, number>();
  readonly #sending = new Map<RoomId, Promise<void>>();

  /** `put` sends one notice and does not reject. */
  constructor(put: (roomId: RoomId, body: { typing: boolean; timeout?: number }) => Promise<void>) {
    this.#put = put;
  }

  setTyping(roomId: RoomId, typing: boolean, timeoutMs = TIMEOUT_MS): void {
    if (!typing) {
      this.#lit.delete(roomId);
      this.#send(roomId, { typing });
      return;
    }
    const now = performance.now();
    const since = this.#lit.get(roomId);
    if (since !== undefined && now - since < FRESH_MS) return;
    this.#lit.set(roomId, now);
    this.#send(roomId, { typing, timeout: timeoutMs });
  }

  showAgain(roomId: RoomId): void {
    if (!this.#lit.delete(roomId)) return;
    this.#send(roomId, { typing: false });
    this.setTyping(roomId, true);
  }

  #send(roomId: RoomId, body: { typing: boolean; timeout?: number }): void {
    const before = this.#sending.get(roomId) ?? Promise.resolve();
    const sent = before
      .then(async () => this.#put(roomId, body))
      .finally(() => {
        if (this.#sending.get(roomId) === sent) this.#sending.delete(roomId);
      });
    this.#sending.set(roomId, sent);
  }
}
