-- Removes the deliveries of events that are no longer kept, and their log: an event's id says its day.
-- NFR-9.
WITH tries AS (
    DELETE FROM delivery_try WHERE event_id < %(to_id)s::uuid
)
DELETE FROM delivery WHERE event_id < %(to_id)s::uuid RETURNING 1 AS one
