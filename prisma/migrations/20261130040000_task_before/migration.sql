-- What a task was before this message set it going: it is that again if the message is taken back unread (T13).
ALTER TABLE messages ADD COLUMN task_before jsonb;
