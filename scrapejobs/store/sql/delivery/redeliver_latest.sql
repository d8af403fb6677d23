-- Sends the latest finish event of a job again, with the whole schedule before it; `event_id` NULL: it has no callback.
-- FR-9, NFR-5, case S4. A try under way goes on: the event may arrive twice, under one id.
WITH found AS (
    SELECT (SELECT event_id FROM delivery WHERE delivery.job_id = job.id ORDER BY event_id DESC LIMIT 1) AS event_id
    FROM job WHERE job.id = %(job_id)s::uuid AND job.tenant_id = %(tenant_id)s::bigint
), again AS (
    UPDATE delivery SET state = 'pending', next_try_at = clock_timestamp(), uncharged = tries,
        redelivered_at = clock_timestamp()
    FROM found WHERE delivery.event_id = found.event_id
)
SELECT event_id FROM found
