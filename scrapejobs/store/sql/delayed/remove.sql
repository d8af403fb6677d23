-- Takes a job out of the delayed ones; waits for a promotion under way and then finds nothing.
-- FR-5; ADR-0013.
DELETE FROM delayed WHERE job_id = %(id)s::uuid RETURNING job_id
