-- Jobs that run past their lease: their worker is gone and the sweeper has not come by.
-- NFR-7, case S18.
SELECT count(*)::float8 AS value FROM lease WHERE expires_at < coalesce(%(now)s::timestamptz, clock_timestamp())
