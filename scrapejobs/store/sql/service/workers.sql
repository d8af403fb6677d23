-- Workers that take jobs, by their heartbeat: the demand.
-- NFR-8.
SELECT id, slots FROM service
WHERE role = 'worker' AND NOT draining AND seen_at > clock_timestamp() - make_interval(secs => %(alive_s)s::float8)
