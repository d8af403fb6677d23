-- A tenant's finish events behind `xid` and `seq`, in an order that never changes: nothing can come in before them any more.
-- FR-9, P6; ADR-0031. Below the oldest transaction of this database that is under way, all is committed or gone for good;
-- those of other databases cannot write here. Who may not see whose a transaction is takes it for one of this database.
SELECT id, job_id, status, finished_at, xid::text::bigint AS xid, seq FROM event
WHERE tenant_id = %(tenant_id)s::bigint
    AND xid < (
        SELECT coalesce(min(open_xid), pg_snapshot_xmax(pg_current_snapshot()))
        FROM pg_snapshot_xip(pg_current_snapshot()) AS open_xid
        WHERE open_xid::xid::text NOT IN (
            SELECT backend_xid::text FROM pg_stat_activity
            WHERE backend_xid IS NOT NULL AND datname <> current_database()))
    AND (xid, seq) > ((%(xid)s::bigint::text)::xid8, %(seq)s::bigint)
ORDER BY xid, seq
LIMIT %(limit)s::int
