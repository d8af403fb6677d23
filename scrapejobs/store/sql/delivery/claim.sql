-- A courier takes deliveries whose time has come; a courier that dies gives them back when the claim ends.
-- FR-9, case S5. `busy` names the endpoint of each post under way: none gets more than its share of the hands.
WITH head AS MATERIALIZED (
    SELECT event_id, next_try_at, endpoint, (SELECT count(*) FROM unnest(%(busy)s::text[]) AS b WHERE b = endpoint) AS n
    FROM delivery, substring(lower(url) FROM '^[^:]+://([^/?#]*)') AS endpoint
    WHERE state = 'pending' AND next_try_at <= coalesce(%(now)s::timestamptz, clock_timestamp())
        AND (SELECT count(*) FROM unnest(%(busy)s::text[]) AS b WHERE b = endpoint) < %(per_endpoint)s::int
    ORDER BY next_try_at LIMIT 1000
), turn AS MATERIALIZED (
    SELECT event_id, endpoint, n + row_number() OVER (PARTITION BY endpoint ORDER BY next_try_at) AS nth FROM head
), due AS (
    SELECT delivery.event_id, turn.endpoint FROM delivery JOIN turn ON turn.event_id = delivery.event_id
    WHERE turn.nth <= %(per_endpoint)s::int
        AND state = 'pending' AND next_try_at <= coalesce(%(now)s::timestamptz, clock_timestamp())
    ORDER BY next_try_at LIMIT %(limit)s::int
    FOR UPDATE OF delivery SKIP LOCKED
)
UPDATE delivery SET next_try_at = clock_timestamp() + make_interval(secs => %(claim_s)s::float8)
FROM due, event, tenant
WHERE delivery.event_id = due.event_id AND event.id = delivery.event_id AND tenant.id = delivery.tenant_id
RETURNING delivery.event_id, delivery.job_id, delivery.url, delivery.sealed, delivery.tries, due.endpoint, event.status,
    event.finished_at, tenant.webhook_secret
