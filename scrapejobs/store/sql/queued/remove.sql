-- Takes a job out of its queue; waits for a dispatch under way and then finds nothing.
-- FR-5; ADR-0013.
DELETE FROM queued WHERE job_id = %(id)s::uuid RETURNING seq
