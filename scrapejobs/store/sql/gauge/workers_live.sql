-- Workers that were heard of lately; one that drains still runs jobs and counts.
-- FR-13.
SELECT count(*)::float8 AS value FROM service
WHERE role = 'worker'
    AND seen_at > coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(alive_s)s::float8)
