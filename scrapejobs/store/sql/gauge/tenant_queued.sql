-- Jobs queued, by tenant: the twenty tenants with the most.
-- FR-13. From the last count, if it is no older than a minute.
SELECT one.name AS tenant, one.n::float8 AS value
FROM depth CROSS JOIN LATERAL jsonb_to_recordset(depth.tenants) AS one (name text, n bigint)
WHERE counted_at > clock_timestamp() - interval '1 minute'
ORDER BY one.n DESC, one.name LIMIT 20
