-- Notes how one try of a delivery went; `delay_s` NULL ends it.
-- FR-9, case S4. The fence is the number of the latest try: an older one's failure is logged and changes nothing else.
WITH noted AS (
    UPDATE delivery SET state = %(state)s::text, last_status = %(status)s::smallint, last_error = %(error)s::text,
        next_try_at = clock_timestamp() + make_interval(secs => %(delay_s)s::float8), endpoint = %(endpoint)s::bytea
    WHERE event_id = %(event_id)s::uuid AND state = 'pending'
        AND (tries = %(number)s::smallint OR %(state)s::text = 'delivered')
    RETURNING next_try_at
)
UPDATE delivery_try SET duration_s = %(duration_s)s::float8, status = %(status)s::smallint, error = %(error)s::text,
    next_try_at = (SELECT next_try_at FROM noted)
WHERE event_id = %(event_id)s::uuid AND number = %(number)s::smallint
RETURNING EXISTS (SELECT FROM noted) AS is_noted
