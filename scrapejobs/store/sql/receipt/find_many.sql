-- What a tenant's keys were answered with; a receipt past its time counts for none.
-- FR-2, FR-3.
SELECT key, job_id, fingerprint FROM receipt
WHERE tenant_id = %(tenant_id)s::bigint AND key = ANY (%(keys)s::text[])
    AND created_at >= clock_timestamp() - make_interval(secs => %(receipt_ttl_s)s::float8)
