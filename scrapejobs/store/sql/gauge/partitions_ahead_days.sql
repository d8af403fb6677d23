-- Days after today for which every partitioned table has its partition.
-- NFR-1, ADR-0015: without a partition for its day no job can be taken in.
WITH last_day AS (
    SELECT inhparent, max(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')) AS day FROM pg_inherits
    WHERE inhparent IN ('job'::regclass, 'attempt'::regclass, 'event'::regclass) AND inhrelid::regclass::text ~ '_\d{8}$'
    GROUP BY inhparent
)
SELECT (min(day) - (coalesce(%(now)s::timestamptz, clock_timestamp()) AT TIME ZONE 'UTC')::date)::float8 AS value
FROM last_day
