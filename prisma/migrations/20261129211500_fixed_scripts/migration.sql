-- The scripts that a command runs, with the hash of what was in them when it was asked for (A16). Kept like the command itself.
ALTER TABLE executions ADD COLUMN scripts jsonb;

CREATE OR REPLACE FUNCTION executions_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.risk <> OLD.risk OR NEW.command <> OLD.command OR NEW.command_hash <> OLD.command_hash
     OR NEW.entity_id <> OLD.entity_id OR NEW.target <> OLD.target OR NEW.preview IS DISTINCT FROM OLD.preview
     OR NEW.registers IS DISTINCT FROM OLD.registers OR NEW.scripts IS DISTINCT FROM OLD.scripts THEN
    RAISE EXCEPTION 'execution %: risk, command, target, preview and scripts are fixed at request time', OLD.id;
  END IF;
  IF OLD.status IN ('completed', 'failed', 'denied', 'revoked', 'expired', 'cancelled')
     AND NEW.status <> OLD.status THEN
    RAISE EXCEPTION 'execution %: % is final', OLD.id, OLD.status;
  END IF;
  RETURN NEW;
END $$;
