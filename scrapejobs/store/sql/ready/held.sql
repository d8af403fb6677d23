-- What former dispatchers handed out and still counts as load: at its host, or where a redirect has led it.
-- NFR-6; ADR-0006, ADR-0022. What asks for a permit counts where it began until the dispatcher reads that.
SELECT seq, tenant_id, host, NULL::float8 AS age_s FROM ready
UNION ALL
SELECT lease.seq, lease.tenant_id, coalesce(permit.host, lease.host),
    extract(epoch FROM clock_timestamp() - coalesce(permit.given_at, lease.started_at))::float8
FROM lease LEFT JOIN permit ON permit.seq = lease.seq AND permit.given_at IS NOT NULL
