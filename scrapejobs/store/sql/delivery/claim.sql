-- A courier takes deliveries whose time has come; a courier that dies gives them back when the claim ends.
-- FR-9.
WITH due AS (
    SELECT event_id FROM delivery
    WHERE state = 'pending' AND next_try_at <= coalesce(%(now)s::timestamptz, clock_timestamp())
    ORDER BY next_try_at LIMIT %(limit)s::int
    FOR UPDATE SKIP LOCKED
)
UPDATE delivery SET next_try_at = clock_timestamp() + make_interval(secs => %(claim_s)s::float8)
FROM due, event, tenant
WHERE delivery.event_id = due.event_id AND event.id = delivery.event_id AND tenant.id = delivery.tenant_id
RETURNING delivery.event_id, delivery.job_id, delivery.url, delivery.tries, event.status, event.finished_at,
    tenant.webhook_secret
