-- Forgets failures that nobody followed up within a day, and changes older than the history is kept.
-- FR-11.
WITH quiet AS (
    DELETE FROM circuit WHERE retry_at IS NULL AND changed_at < clock_timestamp() - interval '1 day'
)
DELETE FROM circuit_change WHERE at < clock_timestamp() - make_interval(secs => %(keep_s)s::float8) RETURNING id
