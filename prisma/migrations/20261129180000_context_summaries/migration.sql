-- What of a task's conversation the model no longer gets word for word, summed up (L5). One row per task, written anew in
-- steps; between two steps its bytes stay the same, also after a restart.
CREATE TABLE context_summaries (
  session_id uuid PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
  -- The last message that it covers, in the order of messages.seq.
  upto_seq bigint NOT NULL,
  body text NOT NULL,
  made_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
