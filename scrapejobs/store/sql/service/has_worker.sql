-- Whether any worker takes jobs, by its heartbeat.
-- FR-4, case S22.
SELECT EXISTS (SELECT FROM service WHERE role = 'worker' AND NOT draining
    AND seen_at > clock_timestamp() - make_interval(secs => %(alive_s)s::float8)) AS has_worker
