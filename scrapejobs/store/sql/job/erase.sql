-- Erases the secrets of jobs that failed long ago, a batch at a time; nobody has requeued them.
-- NFR-12; ADR-0025. In the order of the index job_dead_letter.
UPDATE job SET sealed = substring(sealed FOR 0)
WHERE id = ANY (ARRAY(
    SELECT id FROM job
    WHERE final_state = 'failed' AND discarded_at IS NULL AND sealed <> ''
        AND finished_at < clock_timestamp() - make_interval(secs => %(older_s)s::float8)
    LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED))
RETURNING id
