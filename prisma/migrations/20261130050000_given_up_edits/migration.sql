-- Looked for every few seconds: cards whose newest form was given up (C3, R10), tasks that have or had a room (T11), and calls that
-- nobody ended (J6).
CREATE INDEX matrix_cards_given_up ON matrix_cards (updated_at) WHERE content_hash = '' AND event_id IS NOT NULL;
CREATE INDEX matrix_cards_of_tasks ON matrix_cards (session_id) WHERE kind = 'name';
CREATE INDEX tool_calls_running ON tool_calls (created_at) WHERE state = 'running';
