-- Notes how one try of a delivery went; `delay_s` NULL ends it.
-- FR-9. The fence is the number of tries: of two couriers at one delivery the later one's note is dropped.
UPDATE delivery SET tries = tries + 1, state = %(state)s::text, last_status = %(status)s::smallint,
    last_error = %(error)s::text,
    next_try_at = clock_timestamp() + make_interval(secs => %(delay_s)s::float8)
WHERE event_id = %(event_id)s::uuid AND state = 'pending' AND tries = %(tries)s::smallint
RETURNING event_id
