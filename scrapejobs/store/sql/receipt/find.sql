-- What a tenant's Idempotency-Key was answered with.
-- FR-2.
SELECT job_id, fingerprint FROM receipt WHERE tenant_id = %(tenant_id)s::bigint AND key = %(key)s::text
