-- Takes a job in, with its receipt if it carries an Idempotency-Key; no row when the key is used or its host is not fetched.
-- FR-1, FR-2, FR-12, NFR-3, NFR-6; ADR-0001. An insert of the same key under way is waited for; a
-- receipt past its time is replaced. `is_counted`: the tenant has a daily quota. `host_names` are those under which rows
-- may speak of the host.
WITH barred AS MATERIALIZED (
    SELECT FROM opt_out WHERE name = ANY (%(host_names)s::text[])
), receipt_ AS (
    INSERT INTO receipt AS r (tenant_id, key, fingerprint, job_id, created_at)
    SELECT %(tenant_id)s::bigint, %(key)s::text, %(fingerprint)s::bytea, %(id)s::uuid, clock_timestamp()
    WHERE %(key)s::text IS NOT NULL AND NOT EXISTS (SELECT FROM barred)
    ON CONFLICT (tenant_id, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, job_id = excluded.job_id, created_at = excluded.created_at
        WHERE r.created_at < clock_timestamp() - make_interval(secs => %(receipt_ttl_s)s::float8)
    RETURNING 1
), counted AS (
    INSERT INTO usage AS u (tenant_id, day, jobs)
    SELECT %(tenant_id)s::bigint, (clock_timestamp() AT TIME ZONE 'UTC')::date, 1
    WHERE %(is_counted)s::boolean AND NOT EXISTS (SELECT FROM barred)
        AND (%(key)s::text IS NULL OR EXISTS (SELECT FROM receipt_))
    ON CONFLICT (tenant_id, day) DO UPDATE SET jobs = u.jobs + 1
)
INSERT INTO job (id, tenant_id, priority, url, host, params, sealed, callback_url, callback_sealed, tags,
    max_attempts, deadline_s, deadline_at)
SELECT %(id)s::uuid, %(tenant_id)s::bigint, %(priority)s::smallint, %(url)s::text, %(host)s::text, %(params)s::jsonb,
       %(sealed)s::bytea, %(callback_url)s::text, %(callback_sealed)s::bytea, %(tags)s::jsonb, %(max_attempts)s::smallint, %(deadline_s)s::float8,
       clock_timestamp() + make_interval(secs => %(deadline_s)s::float8)
WHERE NOT EXISTS (SELECT FROM barred) AND (%(key)s::text IS NULL OR EXISTS (SELECT FROM receipt_))
RETURNING id
