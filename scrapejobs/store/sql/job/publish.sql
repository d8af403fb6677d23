-- Moves unpublished jobs into their queues and stamps them, in one statement: at least once, and once.
-- NFR-3; ADR-0001.
WITH due AS MATERIALIZED (
    SELECT id, priority, tenant_id, host FROM job
    WHERE published_at IS NULL AND final_state IS NULL
    ORDER BY id LIMIT %(limit)s::int
    FOR UPDATE SKIP LOCKED
), put AS (
    INSERT INTO queued (job_id, priority, tenant_id, host)
    SELECT id, priority, tenant_id, host FROM due ORDER BY id
)
UPDATE job SET published_at = clock_timestamp() FROM due WHERE job.id = due.id
RETURNING job.id
