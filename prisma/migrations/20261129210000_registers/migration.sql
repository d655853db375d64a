-- What an execution makes, to be written to the graph when it succeeded (X11). It stands on the card, so it stays as it was shown.
ALTER TABLE executions ADD COLUMN registers jsonb;
CREATE INDEX executions_registers ON executions (status) WHERE registers IS NOT NULL;
CREATE INDEX tool_calls_created ON tool_calls (created_at);

CREATE OR REPLACE FUNCTION executions_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.risk <> OLD.risk OR NEW.command <> OLD.command OR NEW.command_hash <> OLD.command_hash
     OR NEW.entity_id <> OLD.entity_id OR NEW.target <> OLD.target OR NEW.preview IS DISTINCT FROM OLD.preview
     OR NEW.registers IS DISTINCT FROM OLD.registers THEN
    RAISE EXCEPTION 'execution %: risk, command, target and preview are fixed at request time', OLD.id;
  END IF;
  IF OLD.status IN ('completed', 'failed', 'denied', 'revoked', 'expired', 'cancelled')
     AND NEW.status <> OLD.status THEN
    RAISE EXCEPTION 'execution %: % is final', OLD.id, OLD.status;
  END IF;
  RETURN NEW;
END $$;
