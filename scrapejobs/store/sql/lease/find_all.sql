-- Which of several jobs run.
-- FR-5, case S20.
SELECT job_id FROM lease WHERE job_id = ANY(%(ids)s::uuid[])
