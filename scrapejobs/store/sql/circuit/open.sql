-- The hosts whose circuits hold jobs back, and in how many seconds each lets a trial through.
-- NFR-6. Seconds rather than a time: the dispatcher's clock is monotonic.
SELECT host, extract(epoch FROM retry_at - clock_timestamp())::float8 AS retry_in_s FROM circuit WHERE retry_at IS NOT NULL
