-- What rows say of hosts: limits, pauses, circuits that hold jobs back, learned shares; and whether attempts have said something since.
-- FR-11, NFR-6. One statement, for it is asked at each tick; what attempts have said is told by a row without a name.
-- Seconds rather than times: the dispatcher's clock is monotonic.
SELECT name, rate, burst, concurrency, extract(epoch FROM paused_until - clock_timestamp())::float8 AS paused_for_s,
    NULL::float8 AS retry_in_s, NULL::float8 AS share
FROM host
UNION ALL
SELECT host, NULL, NULL, NULL, NULL, extract(epoch FROM retry_at - clock_timestamp())::float8, share
FROM circuit WHERE retry_at IS NOT NULL OR share < 1
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL WHERE EXISTS (SELECT FROM host_sign)
