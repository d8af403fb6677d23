-- Takes the jobs of a bulk in, each with its receipt if it carries a key; those whose key is already used are left out.
-- FR-2, FR-3, NFR-3; ADR-0001. As `job/submit`: an insert of the same key under way is waited for, in the order of the keys,
-- so that two bulks never wait for each other; a receipt past its time is replaced.
WITH new AS (
    DELETE FROM incoming RETURNING *
), receipt_ AS (
    INSERT INTO receipt AS r (tenant_id, key, fingerprint, job_id, created_at)
    SELECT tenant_id, key, fingerprint, id, clock_timestamp() FROM new WHERE key IS NOT NULL ORDER BY key
    ON CONFLICT (tenant_id, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, job_id = excluded.job_id, created_at = excluded.created_at
        WHERE r.created_at < clock_timestamp() - make_interval(secs => %(receipt_ttl_s)s::float8)
    RETURNING job_id
), taken AS (
    INSERT INTO job (id, tenant_id, priority, url, host, params, sealed, callback_url, callback_sealed, tags,
        max_attempts, deadline_s, deadline_at)
    SELECT id, tenant_id, priority, url, host, params, sealed, callback_url, callback_sealed, tags,
        max_attempts, deadline_s, clock_timestamp() + make_interval(secs => deadline_s)
    FROM new WHERE key IS NULL OR id IN (SELECT job_id FROM receipt_) ORDER BY place
    RETURNING id, tenant_id
), counted AS (
    INSERT INTO usage AS u (tenant_id, day, jobs)
    SELECT tenant_id, (clock_timestamp() AT TIME ZONE 'UTC')::date, count(*) FROM taken
    WHERE %(is_counted)s::boolean GROUP BY tenant_id
    ON CONFLICT (tenant_id, day) DO UPDATE SET jobs = u.jobs + excluded.jobs
)
SELECT id FROM taken
