-- Takes jobs out of the delayed ones; waits for a promotion under way and then finds nothing of it.
-- FR-5, case S20; ADR-0013. The rows are locked in the order of their jobs' ids.
WITH mine AS (SELECT job_id FROM delayed WHERE job_id = ANY(%(ids)s::uuid[]) ORDER BY job_id FOR UPDATE)
DELETE FROM delayed WHERE job_id IN (SELECT job_id FROM mine) RETURNING job_id
