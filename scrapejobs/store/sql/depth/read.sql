-- What was queued when it was last counted, and how long ago that was.
-- FR-13.
SELECT queued, tenants, hosts, extract(epoch FROM clock_timestamp() - counted_at)::float8 AS age_s,
    extract(epoch FROM clock_timestamp() - oldest_runnable_at)::float8 AS oldest_runnable_s
FROM depth
