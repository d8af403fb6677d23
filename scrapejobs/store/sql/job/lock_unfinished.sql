-- Locks the rows of several unfinished jobs in the order of their ids; one that became final meanwhile is left out.
-- FR-5; ADR-0013.
SELECT id FROM job WHERE id = ANY(%(ids)s::uuid[]) AND final_state IS NULL ORDER BY id FOR UPDATE
