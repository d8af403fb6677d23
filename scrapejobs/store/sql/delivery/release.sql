-- Gives a try back that ended through us and not through its receiver: the schedule does not count it.
-- FR-9, P8. `delay_s` NULL: the claim ends as it would have.
WITH released AS (
    UPDATE delivery SET uncharged = uncharged + 1,
        next_try_at = coalesce(clock_timestamp() + make_interval(secs => %(delay_s)s::float8), next_try_at)
    WHERE event_id = %(event_id)s::uuid AND state = 'pending' AND tries = %(number)s::smallint
    RETURNING next_try_at
)
UPDATE delivery_try SET duration_s = %(duration_s)s::float8, error = %(error)s::text,
    next_try_at = (SELECT next_try_at FROM released)
WHERE event_id = %(event_id)s::uuid AND number = %(number)s::smallint
RETURNING 1 AS one
