-- What keeps queued jobs of a tenant at these hosts from starting: a row for each thing that does.
-- FR-4, case S22. `names` are the names of rows that speak of the `hosts`. A pause without an end (`host/pause.sql`) has
-- no `until`. What the dispatcher told of crowded hosts may be a second old.
SELECT 'paused' AS what, name, nullif(paused_until, '9999-01-01Z') AS until
FROM host WHERE name = ANY (%(names)s::text[]) AND paused_until > clock_timestamp()
UNION ALL
SELECT 'circuit', host, retry_at FROM circuit WHERE host = ANY (%(hosts)s::text[]) AND retry_at IS NOT NULL
UNION ALL
SELECT 'crowded', host, until FROM crowded WHERE host = ANY (%(hosts)s::text[])
UNION ALL
SELECT 'no_worker', NULL, NULL WHERE NOT EXISTS (
    SELECT FROM service WHERE role = 'worker' AND NOT draining
        AND seen_at > clock_timestamp() - make_interval(secs => %(alive_s)s::float8))
UNION ALL
SELECT 'tenant_full', NULL, NULL FROM tenant WHERE id = %(tenant_id)s::bigint
    AND (SELECT count(*) FROM lease WHERE tenant_id = %(tenant_id)s::bigint) >= max_running
