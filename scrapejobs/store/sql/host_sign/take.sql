-- Takes what ended attempts said about their hosts, oldest first, if this dispatcher's epoch still holds.
-- NFR-6; ADR-0006.
WITH me AS MATERIALIZED (
    SELECT 1 FROM dispatcher WHERE epoch = %(epoch)s::bigint AND expires_at > clock_timestamp() FOR SHARE
), taken AS (
    DELETE FROM host_sign WHERE id = ANY (ARRAY (
        SELECT id FROM host_sign WHERE EXISTS (SELECT FROM me) ORDER BY id LIMIT %(limit)s::int))
    RETURNING id, host, is_good, is_busy, code, started_at, ended_at
)
SELECT host, is_good, is_busy, code, started_at, ended_at FROM taken ORDER BY id
