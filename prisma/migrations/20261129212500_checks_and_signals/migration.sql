-- Checks and signals (S1, S2, S3). Neither table was in use before, so both are made anew.
DROP TABLE signals;
DROP TABLE checks;

CREATE TABLE checks (
  id uuid NOT NULL PRIMARY KEY,
  entity_id uuid NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
  name text NOT NULL,
  kind text NOT NULL,
  parameters jsonb NOT NULL,
  severity text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  -- The machine whose shell it asks, and the host whose SSH leads there; null for what is asked over the network.
  machine text,
  host text,
  every_ms integer NOT NULL CHECK (every_ms > 0),
  timeout_ms integer NOT NULL CHECK (timeout_ms > 0),
  raise_after integer NOT NULL CHECK (raise_after > 0),
  resolve_after integer NOT NULL CHECK (resolve_after > 0),
  next_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  lease_owner text,
  lease_until timestamptz(3),
  status text CHECK (status IN ('ok', 'warn', 'fail', 'unknown')),
  value double precision,
  detail text,
  checked_at timestamptz(3),
  -- Since when the status is what it is.
  changed_at timestamptz(3),
  failures integer NOT NULL DEFAULT 0,
  successes integer NOT NULL DEFAULT 0,
  -- The file or the fleet does not ask for it any more.
  gone_at timestamptz(3),
  UNIQUE (entity_id, name)
);

CREATE INDEX checks_due ON checks (next_at) WHERE gone_at IS NULL;
CREATE INDEX checks_host ON checks (host) WHERE lease_until IS NOT NULL;

CREATE TABLE signals (
  id uuid NOT NULL PRIMARY KEY,
  short_id text NOT NULL UNIQUE,
  -- What it is about, the same each time: check:<id>, alertmanager:<fingerprint>.
  key text NOT NULL,
  source text NOT NULL CHECK (source IN ('check', 'alertmanager')),
  entity_id uuid REFERENCES entities (id) ON DELETE SET NULL,
  check_id uuid REFERENCES checks (id) ON DELETE SET NULL,
  severity text NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  title text NOT NULL,
  detail jsonb NOT NULL,
  state text NOT NULL CHECK (state IN ('raised', 'acknowledged', 'acting', 'muted', 'resolved')),
  session_id uuid REFERENCES sessions (id) ON DELETE SET NULL,
  muted_until timestamptz(3),
  -- Alertmanager's own time of the beginning: tells one firing from the next.
  starts_at timestamptz(3),
  raised_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  reopened_at timestamptz(3),
  reopens integer NOT NULL DEFAULT 0,
  -- How often people were called for it: each time is a card of its own. 0: one of many, told in a card for all of them.
  calls integer NOT NULL DEFAULT 0,
  called_at timestamptz(3),
  changed_by text NOT NULL,
  changed_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  resolved_at timestamptz(3)
);

-- One that is open for each thing, whoever raises it.
CREATE UNIQUE INDEX signals_open ON signals (key) WHERE state <> 'resolved';
CREATE INDEX signals_key ON signals (key, raised_at);
CREATE INDEX signals_raised ON signals (raised_at);
CREATE INDEX signals_session ON signals (session_id) WHERE session_id IS NOT NULL;

-- Until when the checks behind a health count as fresh; null where none has an end.
ALTER TABLE entity_status ADD COLUMN fresh_until timestamptz(3);

CREATE INDEX metrics_age ON metrics USING brin (at);
