-- What an operator sent besides words (C16): pictures and text files as they are, voice messages as the text they became.
CREATE TABLE attachments (
  id uuid NOT NULL PRIMARY KEY,
  session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  message_id uuid NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('picture', 'file', 'voice')),
  name text NOT NULL,
  mimetype text NOT NULL,
  size_bytes integer NOT NULL,
  -- The picture; null for the others, and once its message was taken back.
  bytes bytea,
  -- The file's text; likewise.
  text text,
  -- Whether the file goes on after the text.
  cut boolean NOT NULL DEFAULT false,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

CREATE INDEX attachments_message ON attachments (message_id);
CREATE INDEX attachments_session ON attachments (session_id, created_at);
