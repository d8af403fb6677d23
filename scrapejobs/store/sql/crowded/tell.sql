-- Tells which hosts have no room for the jobs that wait for them, and when time alone brings some.
-- FR-4, case S22; ADR-0006. Only what changed is written; the table is for readers alone and may be lost.
WITH me AS MATERIALIZED (
    SELECT 1 FROM dispatcher WHERE epoch = %(epoch)s::bigint AND expires_at > clock_timestamp() FOR SHARE
), told AS MATERIALIZED (
    SELECT host, clock_timestamp() + make_interval(secs => in_s) AS until
    FROM unnest(%(hosts)s::text[], %(in_s)s::float8[]) AS t (host, in_s) WHERE EXISTS (SELECT FROM me)
), gone AS (
    DELETE FROM crowded WHERE EXISTS (SELECT FROM me) AND NOT EXISTS (SELECT FROM told WHERE told.host = crowded.host)
)
INSERT INTO crowded (host, until) SELECT host, until FROM told
ON CONFLICT (host) DO UPDATE SET until = excluded.until
    WHERE (crowded.until - excluded.until) NOT BETWEEN '-1 second' AND '1 second' OR (crowded.until IS NULL) <> (excluded.until IS NULL)
RETURNING host
