-- What the agent did lately is read from the newest call back.
CREATE UNIQUE INDEX tool_calls_seq ON tool_calls (seq);
