-- The next deliveries that match, oldest first, behind `after`; what was delivered after it was sent again is left.
-- FR-9, cases S4, S20.
SELECT event_id FROM delivery
WHERE state = %(state)s::text AND (state <> 'delivered' OR redelivered_at IS NULL)
    AND (%(tenant_id)s::bigint IS NULL OR tenant_id = %(tenant_id)s::bigint)
    AND (%(origin)s::text IS NULL OR origin = %(origin)s::text)
    AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s::timestamptz)
    AND created_at <= %(until)s::timestamptz
    AND (%(after)s::uuid IS NULL OR event_id > %(after)s::uuid)
ORDER BY event_id LIMIT %(limit)s::int
