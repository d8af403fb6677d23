-- Locks the rows of several failed jobs in the order of their ids; one that was sent back meanwhile is left out.
-- FR-10; ADR-0013.
SELECT id FROM job WHERE id = ANY(%(ids)s::uuid[]) AND final_state = 'failed' ORDER BY id FOR UPDATE
