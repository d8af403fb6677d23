-- Renews every lease a worker holds, in one statement; what comes back is still its own.
-- NFR-7, P9. Locked rows are skipped (a report under way holds them).
WITH mine AS (
    SELECT seq FROM lease WHERE seq = ANY (%(seqs)s::bigint[]) ORDER BY seq FOR UPDATE SKIP LOCKED
)
UPDATE lease SET expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s::float8)
FROM mine WHERE lease.seq = mine.seq
RETURNING lease.seq
