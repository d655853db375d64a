-- What was shown for a decision stays as it was shown: also a preview, a plan's steps, and who must decide (A8, A16).
CREATE OR REPLACE FUNCTION executions_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.risk <> OLD.risk OR NEW.command <> OLD.command OR NEW.command_hash <> OLD.command_hash
     OR NEW.entity_id <> OLD.entity_id OR NEW.target <> OLD.target OR NEW.preview IS DISTINCT FROM OLD.preview THEN
    RAISE EXCEPTION 'execution %: risk, command, target and preview are fixed at request time', OLD.id;
  END IF;
  IF OLD.status IN ('completed', 'failed', 'denied', 'revoked', 'expired', 'cancelled')
     AND NEW.status <> OLD.status THEN
    RAISE EXCEPTION 'execution %: % is final', OLD.id, OLD.status;
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION approvals_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.risk <> OLD.risk OR NEW.subject_hash <> OLD.subject_hash OR NEW.needs_typed <> OLD.needs_typed
     OR NEW.needs_role <> OLD.needs_role OR NEW.needs_people <> OLD.needs_people
     OR NEW.plan IS DISTINCT FROM OLD.plan THEN
    RAISE EXCEPTION 'approval %: what is approved, and by whom, is fixed at request time', OLD.id;
  END IF;
  IF OLD.decided_at IS NOT NULL AND NEW.decided_at IS DISTINCT FROM OLD.decided_at
     AND NOT (OLD.status = 'approved' AND NEW.status = 'withdrawn') THEN
    RAISE EXCEPTION 'approval %: already decided', OLD.id;
  END IF;
  RETURN NEW;
END $$;
