-- The snapshot of now: where a rebuild of an empty queue starts from.
-- ADR-0006.
SELECT pg_current_snapshot()::text AS snapshot
