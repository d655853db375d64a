-- Whether a trouble that no task has is open is asked for each room that is made (C7): it must not cost a look at all the events of no task.
CREATE INDEX events_trouble ON events ((data->>'about'), id)
  WHERE session_id IS NULL AND type IN ('error.raised', 'error.settled');
