-- Locks the rows of several jobs in the order of their ids, as every statement that locks several does (ADR-0013).
-- FR-10.
SELECT id FROM job WHERE id = ANY(%(ids)s::uuid[]) ORDER BY id FOR UPDATE
