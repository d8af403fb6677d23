-- Takes a job out of ready; waits for a claim under way and then finds nothing.
-- FR-5; ADR-0013.
DELETE FROM ready WHERE job_id = %(id)s::uuid RETURNING seq
