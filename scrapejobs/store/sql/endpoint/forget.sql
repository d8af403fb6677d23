-- Forgets endpoints that nobody has heard of for as long as anything is kept: the next event tries them afresh.
-- NFR-9.
DELETE FROM endpoint
WHERE coalesce(off_at, failing_since) < clock_timestamp() - make_interval(secs => %(keep_s)s::float8) RETURNING 1 AS one
