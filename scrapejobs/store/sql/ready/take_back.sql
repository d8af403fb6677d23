-- Ready rows that no worker took in time go back to the front of their queues; their tokens are given back.
-- NFR-6: a token spent long ago must not become a late burst at the target. ADR-0013: a way back takes the job's lock
-- too, so that a cancel, which holds it, never looks for a job behind itself; what is locked is skipped.
WITH me AS MATERIALIZED (
    SELECT 1 FROM dispatcher WHERE epoch = %(epoch)s::bigint AND expires_at > clock_timestamp() FOR SHARE
), old AS (
    DELETE FROM ready WHERE pos = ANY (ARRAY (
        SELECT ready.pos FROM ready JOIN job ON job.id = ready.job_id
        WHERE ready.pos >= (SELECT last_value FROM ready_floor)
            AND ready.ready_at < clock_timestamp() - make_interval(secs => %(ready_ttl_s)s::float8)
            AND EXISTS (SELECT FROM me)
        ORDER BY ready.pos FOR UPDATE OF job, ready SKIP LOCKED))
    RETURNING pos, seq, job_id, priority, tenant_id, host, queued_at
), back AS (
    INSERT INTO queued (job_id, priority, tenant_id, host, front, queued_at)
    SELECT job_id, priority, tenant_id, host, true, queued_at FROM old ORDER BY pos DESC
)
SELECT seq FROM old
