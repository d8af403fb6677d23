-- A graceful stop hands over at once.
-- NFR-8; ADR-0006.
UPDATE dispatcher SET expires_at = '-infinity', holder = NULL WHERE epoch = %(epoch)s::bigint RETURNING epoch
