-- The dispatcher stays the dispatcher; no row: it no longer is.
-- NFR-6; ADR-0006.
UPDATE dispatcher SET expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s::float8)
WHERE epoch = %(epoch)s::bigint AND expires_at > clock_timestamp()
RETURNING epoch
