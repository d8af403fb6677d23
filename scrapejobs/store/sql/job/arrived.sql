-- What came in of late, newest first, with how long each attempt took: what a replay lives through.
-- FR-12, NFR-5. `from_id` leaves out whole partitions. A job that was cancelled before it started held no slot.
SELECT extract(epoch FROM job.created_at - %(since)s::timestamptz)::float8 AS at, tenant.name AS tenant,
    job.priority, job.host, job.final_state IS NOT DISTINCT FROM 'failed' AS fails,
    ARRAY(
        SELECT greatest(0.001, extract(epoch FROM attempt.finished_at - attempt.started_at))::float8
        FROM attempt WHERE attempt.job_id = job.id ORDER BY attempt.number, attempt.seq
    ) AS lasts
FROM job JOIN tenant ON tenant.id = job.tenant_id
WHERE job.id >= %(from_id)s::uuid AND job.created_at >= %(since)s::timestamptz
    AND (job.final_state IS DISTINCT FROM 'cancelled' OR job.started_at IS NOT NULL)
ORDER BY job.id DESC
LIMIT %(limit)s::bigint
