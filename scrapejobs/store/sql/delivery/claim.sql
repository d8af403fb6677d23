-- A courier takes deliveries whose time has come, and logs each try before its post; if it dies, the claim ends by itself.
-- FR-9, cases S4, S5. `busy` names the origin of each post under way: none gets more than its share of the hands.
WITH head AS MATERIALIZED (
    SELECT event_id, next_try_at, origin, (SELECT count(*) FROM unnest(%(busy)s::text[]) AS b WHERE b = origin) AS n
    FROM delivery
    WHERE state = 'pending' AND next_try_at <= coalesce(%(now)s::timestamptz, clock_timestamp())
        AND (SELECT count(*) FROM unnest(%(busy)s::text[]) AS b WHERE b = origin) < %(per_origin)s::int
    ORDER BY next_try_at LIMIT 1000
), turn AS MATERIALIZED (
    SELECT event_id, n + row_number() OVER (PARTITION BY origin ORDER BY next_try_at) AS nth FROM head
), due AS (
    SELECT delivery.event_id FROM delivery JOIN turn ON turn.event_id = delivery.event_id
    WHERE turn.nth <= %(per_origin)s::int
        AND state = 'pending' AND next_try_at <= coalesce(%(now)s::timestamptz, clock_timestamp())
    ORDER BY next_try_at LIMIT %(limit)s::int
    FOR UPDATE OF delivery SKIP LOCKED
), begun AS (
    UPDATE delivery SET tries = tries + 1,
        next_try_at = clock_timestamp() + make_interval(secs => %(claim_s)s::float8)
    FROM due, event, tenant
    WHERE delivery.event_id = due.event_id AND event.id = delivery.event_id AND tenant.id = delivery.tenant_id
    RETURNING delivery.event_id, delivery.job_id, delivery.tenant_id, delivery.url, delivery.sealed, delivery.origin,
        delivery.tries AS number, delivery.tries - delivery.uncharged AS charged,
        delivery.redelivered_at IS NOT NULL AS by_hand, event.status, event.finished_at, tenant.webhook_secret,
        CASE WHEN tenant.webhook_secret_old_until > clock_timestamp() THEN tenant.webhook_secret_old END AS secret_old
), logged AS (
    INSERT INTO delivery_try (event_id, number) SELECT event_id, number FROM begun
)
SELECT * FROM begun
