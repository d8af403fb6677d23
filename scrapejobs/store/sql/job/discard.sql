-- A person puts a dead letter aside: it stays failed and leaves the backlog.
-- FR-10.
UPDATE job SET discarded_at = clock_timestamp()
WHERE id = %(id)s::uuid AND final_state = 'failed' AND discarded_at IS NULL
RETURNING id
