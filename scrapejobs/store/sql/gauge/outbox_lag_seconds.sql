-- How long the next row of each outbox has waited; 0 when it is empty.
-- FR-9, NFR-3. Reads the head of each partial index. A job that a person requeued bears no time of that and is left out.
WITH waits (outbox, since) AS (
    SELECT 'publish', (
        SELECT created_at FROM job
        WHERE published_at IS NULL AND final_state IS NULL AND error_code IS NULL
        ORDER BY id LIMIT 1)
    UNION ALL SELECT 'finish', (
        SELECT min(finished_at) FROM (
            SELECT finished_at FROM job
            WHERE finish_published_at IS NULL AND final_state IS NOT NULL
            ORDER BY id LIMIT 1000) AS head)
    UNION ALL SELECT 'delivery', (SELECT min(next_try_at) FROM delivery WHERE state = 'pending')
)
SELECT outbox, greatest(0, coalesce(
    extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - since), 0))::float8 AS value
FROM waits
