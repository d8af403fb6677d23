-- Sends these events again, each with the whole schedule before it.
-- FR-9, case S4. In the order of their ids, so that two at once wait for each other and do not lock each other out.
WITH chosen AS (
    SELECT event_id FROM delivery WHERE event_id = ANY (%(event_ids)s::uuid[]) ORDER BY event_id FOR UPDATE
)
UPDATE delivery SET state = 'pending', next_try_at = clock_timestamp(), uncharged = tries,
    redelivered_at = clock_timestamp()
FROM chosen WHERE delivery.event_id = chosen.event_id
RETURNING delivery.event_id
