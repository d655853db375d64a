-- Both directions of an edge are read from an index alone (B7).
DROP INDEX relationships_target;
CREATE INDEX relationships_target ON relationships (target_id, type, source_id) WHERE valid_to IS NULL;

-- The list of tasks, of all and of one status, comes out of an index in its order, and so does the count beside each (B9).
DROP INDEX sessions_recent;
CREATE INDEX sessions_recent ON sessions (last_activity_at DESC, id DESC);
CREATE INDEX sessions_recent_of_status ON sessions (status, last_activity_at DESC, id DESC);
CREATE INDEX approvals_pending_session ON approvals (session_id) WHERE status = 'pending';
