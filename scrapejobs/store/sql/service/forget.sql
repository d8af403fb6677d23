-- Removes processes unheard of for long.
-- FR-13.
DELETE FROM service WHERE seen_at < clock_timestamp() - make_interval(secs => %(after_s)s::float8) RETURNING id
