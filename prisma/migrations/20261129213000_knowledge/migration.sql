-- Knowledge is found in English and in German (K7): each word is stemmed by both, and a title weighs more than a tag, a tag more
-- than the text. `array_to_string` is only stable by its declaration, as it may print times; over text it is immutable.
CREATE FUNCTION knowledge_document(title text, tags text[], content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT setweight(to_tsvector('english', title) || to_tsvector('german', title), 'A')
    || setweight(to_tsvector('simple', array_to_string(tags, ' ')), 'B')
    || setweight(to_tsvector('english', content) || to_tsvector('german', content), 'C')
$$;
ALTER TABLE knowledge DROP COLUMN search;
ALTER TABLE knowledge ADD COLUMN search tsvector
  GENERATED ALWAYS AS (knowledge_document(title, tags, content)) STORED;
CREATE INDEX knowledge_search ON knowledge USING gin (search);

-- One note per title, whatever its letter case (K6).
ALTER TABLE knowledge DROP CONSTRAINT knowledge_title_key;
CREATE UNIQUE INDEX knowledge_title_folded ON knowledge (lower(title));
CREATE INDEX knowledge_session ON knowledge (session_id);
CREATE INDEX knowledge_recent ON knowledge (updated_at DESC);
CREATE INDEX knowledge_about_entity ON knowledge_about (entity_id);
ALTER TABLE knowledge ADD CONSTRAINT knowledge_kind CHECK (kind IN ('document', 'investigation', 'runbook'));
-- A note outlives its task (T11), and still says which one it was.
ALTER TABLE knowledge ADD COLUMN task_short_id text;
DELETE FROM knowledge_about a WHERE NOT EXISTS (SELECT FROM entities e WHERE e.id = a.entity_id);
ALTER TABLE knowledge_about ADD CONSTRAINT knowledge_about_entity_id_fkey
  FOREIGN KEY (entity_id) REFERENCES entities (id) ON DELETE CASCADE;

-- The outcome of a note's task follows the task for as long as that is there, however it ends or is opened again.
CREATE FUNCTION knowledge_follow_outcome() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE knowledge SET outcome = NEW.outcome WHERE session_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER knowledge_follow_outcome AFTER UPDATE OF outcome ON sessions
  FOR EACH ROW WHEN (OLD.outcome IS DISTINCT FROM NEW.outcome) EXECUTE FUNCTION knowledge_follow_outcome();

-- Runbooks (K10, K11): `body` is the YAML; `file_hash` that of the body as it was last taken from a file, by which a change made
-- here is told from one of the file. `sequence` is what a learned one was learned from.
ALTER TABLE runbooks ADD COLUMN summary text NOT NULL DEFAULT '';
ALTER TABLE runbooks ADD COLUMN file_hash text;
ALTER TABLE runbooks ADD COLUMN sequence text;
ALTER TABLE runbooks ADD COLUMN session_id uuid;
ALTER TABLE runbooks ADD COLUMN decided_by text;
ALTER TABLE runbooks ADD COLUMN decided_at timestamptz(3);
ALTER TABLE runbooks ADD CONSTRAINT runbooks_origin CHECK (origin IN ('file', 'learned'));
ALTER TABLE runbooks ADD CONSTRAINT runbooks_status CHECK (status IN ('offered', 'active', 'refused'));
CREATE UNIQUE INDEX runbooks_sequence ON runbooks (sequence);
-- Only an operator's word makes an offer a runbook.
ALTER TABLE runbooks ADD CONSTRAINT runbooks_learned_decided
  CHECK (origin <> 'learned' OR (status = 'offered') = (decided_by IS NULL));

-- When an action first succeeded on a type of entity (K11); null while it never has.
ALTER TABLE patterns ADD COLUMN first_success_at timestamptz(3);

-- What a task that succeeded had changed, as a hash over its commands in order (K11). Outlives the task.
CREATE TABLE task_sequences (
  session_id uuid NOT NULL PRIMARY KEY,
  sequence text NOT NULL,
  at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX task_sequences_sequence ON task_sequences (sequence);

-- Tools name entities by their bare names, too (K9).
CREATE INDEX entities_name ON entities (name);

-- How often a runbook was taken into a plan.
CREATE INDEX tool_calls_runbook ON tool_calls (session_id)
  WHERE name = 'propose_plan' AND arguments->'runbook' IS NOT NULL;
