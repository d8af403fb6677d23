-- Every lane with its first entries, and the snapshot it was read in: what a new dispatcher rebuilds from.
-- ADR-0006. Lanes come in the order of their first entries; what was put to the front comes last, and whole.
SELECT pg_current_snapshot()::text AS snapshot, priority, tenant_id, host, front, count(*) AS n,
    CASE WHEN front THEN array_agg(seq ORDER BY seq) ELSE (array_agg(seq ORDER BY seq))[1:%(window)s::int] END AS seqs
FROM queued
GROUP BY priority, tenant_id, host, front
ORDER BY front, min(seq)
