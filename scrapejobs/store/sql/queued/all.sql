-- Every entry, and the snapshot it was read in: what a new dispatcher rebuilds from.
-- ADR-0006.
SELECT pg_current_snapshot()::text AS snapshot, seq, priority, tenant_id, host, front FROM queued ORDER BY seq
