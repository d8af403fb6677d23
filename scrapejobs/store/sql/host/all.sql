-- Limits and pauses of every host that has any.
-- FR-11. Seconds rather than a time: the dispatcher's clock is monotonic.
SELECT name, rate, burst, concurrency,
    CASE WHEN paused_until = 'infinity' THEN 'infinity'::float8
         ELSE extract(epoch FROM paused_until - clock_timestamp())::float8 END AS paused_for_s
FROM host
