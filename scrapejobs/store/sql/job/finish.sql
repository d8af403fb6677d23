-- Writes the finish event of final jobs and stamps them, and the delivery for those with a callback: each event once.
-- FR-9, P6. The ids are made by the caller, one for each row it may take; of the `job_ids` alone, unless that is NULL.
WITH due AS MATERIALIZED (
    SELECT id, tenant_id, final_state, finished_at, callback_url, callback_sealed, row_number() OVER (ORDER BY id) AS n FROM (
        SELECT * FROM job WHERE finish_published_at IS NULL AND final_state IS NOT NULL
            AND (%(job_ids)s::uuid[] IS NULL OR id = ANY (%(job_ids)s::uuid[]))
        ORDER BY id LIMIT cardinality(%(event_ids)s::uuid[])
        FOR UPDATE SKIP LOCKED) j
), told AS (
    INSERT INTO event (id, job_id, tenant_id, status, finished_at)
    SELECT (%(event_ids)s::uuid[])[n], id, tenant_id, final_state, finished_at FROM due ORDER BY n
), asked AS (
    INSERT INTO delivery (event_id, job_id, tenant_id, url, sealed, next_try_at)
    SELECT (%(event_ids)s::uuid[])[n], id, tenant_id, callback_url, callback_sealed, clock_timestamp() FROM due
    WHERE callback_url IS NOT NULL
)
UPDATE job SET finish_published_at = clock_timestamp() FROM due WHERE job.id = due.id
RETURNING job.id, job.tenant_id, job.final_state, job.error_code, job.callback_url IS NOT NULL AS has_callback
