-- Removes the deliveries of events that are no longer kept: an event's id says its day.
-- NFR-9.
DELETE FROM delivery WHERE event_id < %(to_id)s::uuid RETURNING 1 AS one
