-- Counts what is queued by tenant and by host, and finds the oldest that no pause, circuit or crowd holds back.
-- FR-13, NFR-8, S17. Written down in one row, so that whoever looks does not count. `most`: so many of the longest.
WITH lane AS MATERIALIZED (
    SELECT tenant_id, host, count(*) AS n, min(queued_at) AS oldest_at FROM queued GROUP BY tenant_id, host
), by_tenant AS (
    SELECT tenant.name, sum(n)::bigint AS n, min(oldest_at) AS oldest_at FROM lane JOIN tenant ON tenant.id = tenant_id
    GROUP BY tenant.name ORDER BY 2 DESC, 1 LIMIT %(most)s::int
), by_host AS (
    SELECT host AS name, sum(n)::bigint AS n, min(oldest_at) AS oldest_at FROM lane
    GROUP BY host ORDER BY 2 DESC, 1 LIMIT %(most)s::int
), runnable AS (
    SELECT min(oldest_at) AS oldest_at FROM lane
    WHERE NOT EXISTS (SELECT FROM crowded WHERE crowded.host = lane.host)
        AND NOT EXISTS (SELECT FROM circuit WHERE circuit.host = lane.host AND retry_at > clock_timestamp())
        AND NOT EXISTS (
            SELECT FROM host WHERE paused_until > clock_timestamp()
            AND (name = lane.host OR left(name, 2) = '*.' AND right(lane.host, length(name) - 1) = substr(name, 2)))
)
INSERT INTO depth (id, counted_at, queued, tenants, hosts, oldest_runnable_at)
SELECT 1, clock_timestamp(), (SELECT coalesce(sum(n), 0) FROM lane),
    (SELECT coalesce(jsonb_agg(to_jsonb(by_tenant)), '[]') FROM by_tenant),
    (SELECT coalesce(jsonb_agg(to_jsonb(by_host)), '[]') FROM by_host),
    (SELECT oldest_at FROM runnable)
ON CONFLICT (id) DO UPDATE SET counted_at = excluded.counted_at, queued = excluded.queued, tenants = excluded.tenants,
    hosts = excluded.hosts, oldest_runnable_at = excluded.oldest_runnable_at
RETURNING queued
