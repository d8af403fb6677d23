-- Unfinished jobs whose deadline has passed and that do not run; a running one is judged when it reports.
-- NFR-7. One whose row somebody holds is left for later: it must not hold up the others.
SELECT id FROM job
WHERE final_state IS NULL AND deadline_at < clock_timestamp()
    AND NOT EXISTS (SELECT FROM lease WHERE lease.job_id = job.id)
ORDER BY deadline_at LIMIT %(limit)s::int
FOR UPDATE OF job SKIP LOCKED
