-- A person puts dead letters aside: they stay failed and leave the backlog.
-- FR-10.
UPDATE job SET discarded_at = clock_timestamp()
WHERE id = ANY(%(ids)s::uuid[]) AND final_state = 'failed' AND discarded_at IS NULL
RETURNING id
