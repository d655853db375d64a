-- Encrypted rooms (bot/crypto/). What a message was encrypted to stands beside its row before it is sent (R5).
ALTER TABLE matrix_outbox ADD COLUMN sealed jsonb;

-- What an encrypted message says once it was decrypted, and what is known of the device that sent it.
ALTER TABLE matrix_inbox ADD COLUMN clear jsonb;
-- Set aside: its key did not come in time. It is worked on if the key comes later.
ALTER TYPE inbox_state ADD VALUE 'unread';

-- The bot's device: whoever loads its store takes the next epoch, and only the newest one may write.
CREATE TABLE matrix_crypto_devices (
  user_id text NOT NULL,
  device_id text NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  -- The layout of the store: version of the database and its object stores with their indexes.
  layout jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, device_id)
);

-- The rows of its store, as they would stand in an IndexedDB: key and value as JSON.
CREATE TABLE matrix_crypto_rows (
  user_id text NOT NULL,
  device_id text NOT NULL,
  store text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (user_id, device_id, store, key)
);
