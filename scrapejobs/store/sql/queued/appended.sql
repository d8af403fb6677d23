-- Entries that became visible since a snapshot: of transactions that began after it or were under way in it.
-- ADR-0006. Exact, and no open writer elsewhere can stall it. At least one row comes back, to carry the snapshot.
SELECT s.snapshot, q.* FROM (SELECT pg_current_snapshot()::text) AS s (snapshot)
LEFT JOIN LATERAL (
    SELECT seq, priority, tenant_id, host, front FROM queued WHERE xid >= pg_snapshot_xmax(%(since)s::pg_snapshot)
    UNION ALL
    SELECT seq, priority, tenant_id, host, front FROM queued
    WHERE xid = ANY (ARRAY (SELECT pg_snapshot_xip(%(since)s::pg_snapshot)))
    ORDER BY seq
) q ON true
