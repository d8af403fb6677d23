-- Retries whose time has come go back to their queues.
-- NFR-7.
WITH due AS (
    DELETE FROM delayed WHERE job_id = ANY (ARRAY (
        SELECT job_id FROM delayed WHERE due_at <= coalesce(%(now)s::timestamptz, clock_timestamp())
        ORDER BY due_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED))
    RETURNING job_id, due_at, priority, tenant_id, host
)
INSERT INTO queued (job_id, priority, tenant_id, host)
SELECT job_id, priority, tenant_id, host FROM due ORDER BY due_at
RETURNING seq
