-- What a task's passes came to is looked at at each end (T9), and what a turn's did at each note (T5).
CREATE INDEX passes_session ON passes (session_id, seq);
CREATE INDEX passes_turn ON passes (turn_id, seq);
-- What of a turn nobody has read is looked for at each claim and each end of a pass.
CREATE INDEX messages_unread ON messages (turn_id) WHERE taken_in_at IS NULL;
