-- Pauses a host for a time, or (no time given) until a person resumes it; a pause that is there is replaced.
-- FR-11. For good is a date far off: no row holds a time without a distance from now, and least() leaves out a NULL.
INSERT INTO host (name, paused_until, pause_reason)
VALUES (%(name)s::text, least(clock_timestamp() + make_interval(secs => %(for_s)s::float8), '9999-01-01Z'), 'operator')
ON CONFLICT (name) DO UPDATE SET paused_until = excluded.paused_until, pause_reason = excluded.pause_reason
RETURNING name
