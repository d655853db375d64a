-- One call on several targets (X13): the order of its executions, and whether the first goes alone.
ALTER TABLE executions ADD COLUMN batch_index integer;
ALTER TABLE executions ADD COLUMN batch_canary boolean NOT NULL DEFAULT false;
CREATE INDEX executions_batch ON executions (batch_id) WHERE batch_id IS NOT NULL;

-- When a call of the agent took the result: no note tells it then (R7).
ALTER TABLE executions ADD COLUMN result_taken_at timestamptz(3);
