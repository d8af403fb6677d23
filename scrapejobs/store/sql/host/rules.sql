-- What rows say of hosts: limits and pauses of those that have any, circuits that hold jobs back, and (a row without a
-- name) whether ended attempts have said something since.
-- FR-11, NFR-6. Seconds rather than times: the dispatcher's clock is monotonic. One statement, for it is asked at each tick.
SELECT name, rate, burst, concurrency, extract(epoch FROM paused_until - clock_timestamp())::float8 AS paused_for_s,
    NULL::float8 AS retry_in_s
FROM host
UNION ALL
SELECT host, NULL, NULL, NULL, NULL, extract(epoch FROM retry_at - clock_timestamp())::float8
FROM circuit WHERE retry_at IS NOT NULL
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL WHERE EXISTS (SELECT FROM host_sign)
