import type { Database } from '../core/db/database.ts';
import type { EventFeed } from '../core/events/subscribe.ts';
import type { UserId } from '../core/ids.ts';
import type { Operators } from '../core/operators.ts';
import type { Transcriber } from '../core/agent/model/transcribe.ts';
import type { Ephemeral, InboxHandler } from './inbox/types.ts';
import type { Credentials } from './matrix/account.ts';
import type { Encryption } from './rooms/encryption.ts';

/** What the bot's handlers and projector get. Valid for one term of office: until `signal` fires. */
export interface BotParts {
  database: Database;
  feed: EventFeed;
  operators: Operators;
  botUserId: UserId;
  ephemeral: Ephemeral;
  /** Fires when the bot stops or loses its lock. */
  signal: AbortSignal;
}

/** How the bot is put together. */
export interface BotOptions {
  database: Database;
  feed: EventFeed;
  /** `MATRIX_HOMESERVER_URL`, with or without a slash at its end. */
  homeserverUrl: string;
  credentials: Credentials;
  operators: Operators;
  /** `NOMOS_ENCRYPTION`. Default `never`. */
  encryption?: Encryption | undefined;
  /** What recordings and pictures can be used for; without it neither is taken in (C16). */
  media?: {
    readonly transcriber: Transcriber | undefined;
    /** Whether the model takes pictures. */
    readonly vision: boolean;
  };
  /** Makes the handler of inbox events. */
  handler(parts: BotParts): InboxHandler;
  /** Turns the event log into outbox rows until `parts.signal` fires. Started when the Space and the lobby are there. */
  projector?(parts: BotParts): Promise<void>;
}
