-- A worker takes what may start: ready rows become leases, and the job comes along.
-- NFR-4, NFR-10; ADR-0001. Starts at a measured floor, so dead index entries under a held snapshot are jumped over.
-- The jobs are looked up once: each look must have all days at hand.
WITH taken AS MATERIALIZED (
    SELECT pos FROM ready
    WHERE pos >= (SELECT last_value FROM ready_floor)
    ORDER BY pos LIMIT %(limit)s::int
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM ready WHERE pos = ANY (ARRAY (SELECT pos FROM taken))
    RETURNING seq, job_id, priority, tenant_id, host
), found AS MATERIALIZED (
    SELECT gone.*, job.last_number + 1 AS number, clock_timestamp() AS started_at,
        job.url, job.params, job.sealed, job.attempts, job.lost, job.max_attempts, job.created_at, job.started_at IS NULL AS is_first,
        extract(epoch FROM job.deadline_at - clock_timestamp())::float8 AS remaining_s
    FROM gone JOIN job ON job.id = gone.job_id AND job.final_state IS NULL
), held AS (
    INSERT INTO lease (seq, job_id, number, priority, tenant_id, host, worker_id, worker, started_at, expires_at)
    SELECT seq, job_id, number, priority, tenant_id, host, %(worker_id)s::uuid, %(worker)s::text, started_at,
        clock_timestamp() + make_interval(secs => %(lease_s)s::float8)
    FROM found
)
SELECT seq, job_id, number, tenant_id, host, started_at, url, params, sealed, attempts, lost, max_attempts, created_at, is_first,
    remaining_s
FROM found
