-- Removes receipts past their time, a batch at a time; a late one is replaced at submit anyway.
-- FR-2.
DELETE FROM receipt WHERE (tenant_id, key) IN (
    SELECT tenant_id, key FROM receipt
    WHERE created_at < clock_timestamp() - make_interval(secs => %(receipt_ttl_s)s::float8)
    ORDER BY created_at LIMIT %(limit)s::int FOR UPDATE SKIP LOCKED
)
RETURNING 1 AS one
