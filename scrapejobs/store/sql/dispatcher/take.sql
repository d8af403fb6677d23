-- Becomes the dispatcher when the last lease is over or was its own (`epoch`): a new epoch fences what the old still tries.
-- NFR-6; ADR-0006. Must be committed synchronously, or a crash could give one epoch out twice.
UPDATE dispatcher SET epoch = epoch + 1, holder = %(holder)s::text,
    expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s::float8)
WHERE expires_at < clock_timestamp() OR epoch = %(epoch)s::bigint
RETURNING epoch
