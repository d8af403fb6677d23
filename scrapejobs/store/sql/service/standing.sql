-- Every live process by its heartbeat, with what it runs; and whoever holds leases without being announced.
-- FR-13.
WITH held AS (
    SELECT worker_id, min(worker) AS worker, count(*) AS running,
        count(*) FILTER (WHERE expires_at < clock_timestamp()) AS expired
    FROM lease GROUP BY worker_id
)
SELECT coalesce(service.id, held.worker_id) AS id, coalesce(service.role, 'worker') AS role,
    coalesce(service.name, held.worker) AS name, service.hostname, service.pid, service.slots, service.draining,
    coalesce(held.running, 0) AS running, coalesce(held.expired, 0) AS expired, service.started_at,
    extract(epoch FROM clock_timestamp() - service.seen_at)::float8 AS unseen_s
FROM service FULL JOIN held ON held.worker_id = service.id
ORDER BY role, name, id
