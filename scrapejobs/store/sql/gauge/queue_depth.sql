-- Unfinished jobs by queue and by the place that holds them (ADR-0012).
-- FR-13. Counts the small tables; of the unpublished at most 100,000.
WITH unpublished AS MATERIALIZED (
    SELECT priority FROM job WHERE published_at IS NULL AND final_state IS NULL ORDER BY id LIMIT 100000
), held AS (
    SELECT 'unpublished' AS place, priority, count(*) AS n FROM unpublished GROUP BY priority
    UNION ALL SELECT 'queued', priority, count(*) FROM queued GROUP BY priority
    UNION ALL SELECT 'delayed', priority, count(*) FROM delayed GROUP BY priority
    UNION ALL SELECT 'ready', priority, count(*) FROM ready GROUP BY priority
    UNION ALL SELECT 'lease', priority, count(*) FROM lease GROUP BY priority
)
SELECT queue.priority, place, coalesce(n, 0)::float8 AS value
FROM generate_series(0, 2) AS queue (priority)
CROSS JOIN unnest(ARRAY['unpublished', 'queued', 'delayed', 'ready', 'lease']) AS place
LEFT JOIN held USING (priority, place)
