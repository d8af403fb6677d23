-- A person puts dead letters aside: they stay failed, leave the backlog, and their secrets are erased (NFR-12).
-- FR-10.
UPDATE job SET discarded_at = clock_timestamp(), sealed = substring(sealed FOR 0)
WHERE id = ANY(%(ids)s::uuid[]) AND final_state = 'failed' AND discarded_at IS NULL
RETURNING id
