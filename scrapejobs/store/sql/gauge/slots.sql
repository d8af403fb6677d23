-- Slots in use, counted from leases, and slots that live workers have left.
-- FR-13, case S18: a killed worker's jobs stay counted until its leases are swept, and no longer.
WITH open AS (
    SELECT greatest(0, slots - (SELECT count(*) FROM lease WHERE lease.worker_id = service.id)) AS n FROM service
    WHERE role = 'worker' AND NOT draining
        AND seen_at > coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(alive_s)s::float8)
)
SELECT 'busy' AS state, count(*)::float8 AS value FROM lease
UNION ALL SELECT 'free', coalesce(sum(n), 0)::float8 FROM open
