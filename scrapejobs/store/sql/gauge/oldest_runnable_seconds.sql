-- How long the oldest queued job has waited that no pause, circuit or crowded host holds back; 0 when there is none.
-- FR-13, NFR-8. From the last count, if it is no older than a minute.
SELECT coalesce(greatest(0, extract(epoch FROM clock_timestamp() - oldest_runnable_at)), 0)::float8 AS value
FROM depth WHERE counted_at > clock_timestamp() - interval '1 minute'
