-- Uses a key for a whole bulk; no row when it is used already. A receipt past its time is replaced.
-- FR-2, FR-3. `id` names no job, but the bulk.
INSERT INTO receipt AS r (tenant_id, key, fingerprint, job_id, created_at)
VALUES (%(tenant_id)s::bigint, %(key)s::text, %(fingerprint)s::bytea, %(id)s::uuid, clock_timestamp())
ON CONFLICT (tenant_id, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, job_id = excluded.job_id, created_at = excluded.created_at
    WHERE r.created_at < clock_timestamp() - make_interval(secs => %(receipt_ttl_s)s::float8)
RETURNING job_id
