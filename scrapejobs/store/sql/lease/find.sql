-- Which of these jobs run, and who runs them.
-- FR-5, case S20.
SELECT job_id, worker_id FROM lease WHERE job_id = ANY(%(ids)s::uuid[])
