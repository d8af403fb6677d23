-- Who runs a job.
-- FR-5.
SELECT seq, worker_id FROM lease WHERE job_id = %(id)s::uuid
