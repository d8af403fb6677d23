-- Limits and pauses of every host that has any.
-- FR-11. Seconds rather than a time: the dispatcher's clock is monotonic.
SELECT name, rate, burst, concurrency,
    extract(epoch FROM paused_until - clock_timestamp())::float8 AS paused_for_s
FROM host
