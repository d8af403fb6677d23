-- Seconds until the next retry is due; no row when none waits.
-- NFR-7.
SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS in_s FROM delayed ORDER BY due_at LIMIT 1
