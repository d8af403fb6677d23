-- Ready rows of hosts that were paused just now go back to the front of their queues, before a worker takes them.
-- NFR-6, FR-11; ADR-0013: a way back takes the job's lock too; what is locked is skipped, for a claim or a cancel has it.
-- To the dispatcher they have ended: their slots come back, their tokens stay spent, which is the careful side.
WITH paused AS MATERIALIZED (
    SELECT name FROM host WHERE name = ANY (%(hosts)s::text[]) AND paused_until > clock_timestamp()
), old AS (
    DELETE FROM ready WHERE pos = ANY (ARRAY (
        SELECT ready.pos FROM ready JOIN job ON job.id = ready.job_id
        WHERE ready.pos >= (SELECT last_value FROM ready_floor) AND ready.host = ANY (ARRAY (SELECT name FROM paused))
        ORDER BY ready.pos FOR UPDATE OF job, ready SKIP LOCKED))
    RETURNING pos, job_id, priority, tenant_id, host, queued_at
)
INSERT INTO queued (job_id, priority, tenant_id, host, front, queued_at)
SELECT job_id, priority, tenant_id, host, true, queued_at FROM old ORDER BY pos DESC
RETURNING seq
