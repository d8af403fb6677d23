-- How long the job that waits longest for its next attempt has waited, by queue, wherever it waits; 0 when none does.
-- FR-13, NFR-8. Each is the first entry of an index; of the unpublished, the thousand that the publisher takes next.
WITH unpublished AS MATERIALIZED (
    SELECT priority, created_at FROM job
    WHERE published_at IS NULL AND final_state IS NULL AND error_code IS NULL
    ORDER BY id LIMIT 1000
)
SELECT priority, greatest(0, extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - least(
    (SELECT queued_at FROM queued WHERE queued.priority = queue.priority ORDER BY queued_at LIMIT 1),
    (SELECT min(queued_at) FROM ready WHERE ready.priority = queue.priority),
    (SELECT min(created_at) FROM unpublished WHERE unpublished.priority = queue.priority)
)))::float8 AS value
FROM generate_series(0, 2) AS queue (priority)
