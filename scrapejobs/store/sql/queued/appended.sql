-- Entries that became visible since a snapshot, and the next ones of lanes whose windows run low, read as one.
-- ADR-0006. Exact: entries of transactions that began after the snapshot or were under way in it, so no open writer
-- elsewhere can stall it. At least one row comes back, to carry the snapshot. A row with a `lane` (its place in the
-- arrays, from 1) holds in `seqs` what is behind that lane's window: up to its `size`, and one more if there is more.
SELECT s.snapshot, q.* FROM (SELECT pg_current_snapshot()::text) AS s (snapshot)
LEFT JOIN LATERAL (
    SELECT seq, priority, tenant_id, host, front, NULL::bigint AS lane, NULL::bigint[] AS seqs
    FROM queued WHERE xid >= pg_snapshot_xmax(%(since)s::pg_snapshot)
    UNION ALL
    SELECT seq, priority, tenant_id, host, front, NULL, NULL
    FROM queued WHERE xid = ANY (ARRAY (SELECT pg_snapshot_xip(%(since)s::pg_snapshot)))
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, low.lane, ARRAY (
        SELECT seq FROM queued
        WHERE priority = low.priority AND tenant_id = low.tenant_id AND host = low.host AND seq > low.after AND NOT front
        ORDER BY seq LIMIT low.size + 1)
    FROM unnest(%(priorities)s::smallint[], %(tenant_ids)s::bigint[], %(hosts)s::text[], %(afters)s::bigint[],
        %(sizes)s::int[]) WITH ORDINALITY AS low (priority, tenant_id, host, after, size, lane)
    ORDER BY lane NULLS FIRST, seq
) q ON true
