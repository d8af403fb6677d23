-- How many deliveries match: what a redelivery of many has before it.
-- FR-9, cases S4, S20.
SELECT count(*) AS n FROM delivery
WHERE state = %(state)s::text AND (state <> 'delivered' OR redelivered_at IS NULL)
    AND (%(tenant_id)s::bigint IS NULL OR tenant_id = %(tenant_id)s::bigint)
    AND (%(origin)s::text IS NULL OR origin = %(origin)s::text)
    AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s::timestamptz)
    AND created_at <= %(until)s::timestamptz
