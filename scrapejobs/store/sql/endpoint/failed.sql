-- Notes a failed try; switches the endpoint off when it said 410, or has failed for long and often enough.
-- FR-9, case S4. `is_new`: this is what switched it off.
WITH before AS (
    SELECT off_at FROM endpoint WHERE tenant_id = %(tenant_id)s::bigint AND mark = %(mark)s::bytea
)
INSERT INTO endpoint AS e (tenant_id, mark, origin, off_at, reason)
SELECT %(tenant_id)s::bigint, %(mark)s::bytea, %(origin)s::text, CASE WHEN %(is_gone)s::boolean THEN clock_timestamp() END,
    CASE WHEN %(is_gone)s::boolean THEN 'gone' END
ON CONFLICT (tenant_id, mark) DO UPDATE SET
    failures = e.failures + 1,
    off_at = coalesce(e.off_at, excluded.off_at, CASE WHEN e.failures + 1 >= %(off_after)s::int AND e.failing_since
        < clock_timestamp() - make_interval(secs => %(off_after_s)s::float8) THEN clock_timestamp() END),
    reason = coalesce(e.reason, excluded.reason, CASE WHEN e.failures + 1 >= %(off_after)s::int AND e.failing_since
        < clock_timestamp() - make_interval(secs => %(off_after_s)s::float8) THEN 'failing' END)
RETURNING reason, off_at IS NOT NULL AND NOT EXISTS (SELECT FROM before WHERE before.off_at IS NOT NULL) AS is_new
