-- Jobs queued, by host: the twenty hosts with the most.
-- FR-13. From the last count, if it is no older than a minute.
SELECT one.name AS host, one.n::float8 AS value
FROM depth CROSS JOIN LATERAL jsonb_to_recordset(depth.hosts) AS one (name text, n bigint)
WHERE counted_at > clock_timestamp() - interval '1 minute'
ORDER BY one.n DESC, one.name LIMIT 20
