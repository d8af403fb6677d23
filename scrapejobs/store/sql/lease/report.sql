-- Ends attempts: deletes their leases (the fence: no lease, no effect), records them, and settles or returns the jobs.
-- NFR-4, P2, P4; ADR-0004. A job that is already final (cancelled) keeps its state: only the attempt is recorded.
-- A job whose row somebody holds is left for later (`is_busy`): one transaction that stands still holds up nobody else.
-- `job_ids` names the same jobs as the rows do, and `first_id` and `last_id` the range that they are in: by such bounds
-- Postgres leaves out the days between which it need not choose, also where a statement is planned once for all.
-- A permit goes with its lease: what it holds is free by that. It says who asked for a rest after a redirect (ADR-0022).
-- Of a host that is well nothing is said: a good sign is kept only where bad ones are.
-- What was decided comes in as rows: `next` is succeeded | failed | queued; queued with delay_s 0 goes to the front.
WITH told AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(reports)s::jsonb) AS t (
        seq bigint, job_id uuid, next text, delay_s float8, charged boolean, lost boolean, host_pause_s float8,
        host_sign text,
        outcome text, code text, detail text, error_class text, error_code text, error_detail text, target_status smallint,
        phase text, bytes bigint, exchange jsonb, expired_only boolean,
        result_key text, result_size bigint, result_sha256 text, result_content_type text, result_complete text,
        result_meta jsonb)
), locked AS MATERIALIZED (
    SELECT id, final_state FROM job
    WHERE id = ANY (%(job_ids)s::uuid[]) AND id BETWEEN %(first_id)s::uuid AND %(last_id)s::uuid
    ORDER BY id FOR UPDATE SKIP LOCKED
), let_go AS (
    DELETE FROM lease USING told, locked
    WHERE lease.seq = told.seq AND locked.id = lease.job_id
        AND (NOT told.expired_only OR lease.expires_at < coalesce(%(now)s::timestamptz, clock_timestamp()))
    RETURNING lease.*
), unpermitted AS (
    DELETE FROM permit USING let_go WHERE permit.seq = let_go.seq
), ended AS MATERIALIZED (
    SELECT let_go.number, let_go.priority, let_go.tenant_id, let_go.host, let_go.worker, let_go.started_at,
        locked.final_state AS was, locked.final_state IS NULL AND told.error_code IS NOT NULL AS fails,
        CASE WHEN told.host_pause_s IS NOT NULL THEN coalesce(permit.host, let_go.host) END AS paused_host, told.*
    FROM let_go JOIN told USING (seq) JOIN locked ON locked.id = let_go.job_id LEFT JOIN permit USING (seq)
), recorded AS (
    INSERT INTO attempt (job_id, seq, number, worker, started_at, finished_at, outcome, code, detail, charged,
        target_status, phase, bytes, exchange)
    SELECT job_id, seq, number, worker, started_at, clock_timestamp(),
        CASE WHEN was = 'cancelled' THEN 'cancelled' ELSE outcome END, code, detail, charged,
        target_status, phase, coalesce(bytes, 0), coalesce(exchange, '{}')
    FROM ended
), again AS (
    INSERT INTO queued (job_id, priority, tenant_id, host, front)
    SELECT job_id, priority, tenant_id, host, true FROM ended
    WHERE was IS NULL AND next = 'queued' AND delay_s <= 0 ORDER BY seq
), later AS (
    INSERT INTO delayed (job_id, due_at, priority, tenant_id, host)
    SELECT job_id, clock_timestamp() + make_interval(secs => delay_s), priority, tenant_id, host FROM ended
    WHERE was IS NULL AND next = 'queued' AND delay_s > 0
), paused AS (
    INSERT INTO host (name, paused_until, pause_reason)
    SELECT paused_host, clock_timestamp() + make_interval(secs => max(host_pause_s)), 'retry_after' FROM ended
    WHERE paused_host IS NOT NULL GROUP BY paused_host ORDER BY paused_host
    ON CONFLICT (name) DO UPDATE SET paused_until = excluded.paused_until, pause_reason = excluded.pause_reason
        WHERE host.paused_until IS NULL OR host.paused_until < excluded.paused_until
), signed AS (
    INSERT INTO host_sign (host, is_good, is_busy, code, started_at)
    SELECT host, host_sign = 'good', host_sign = 'busy', code, started_at FROM ended
    WHERE host_sign IN ('bad', 'busy', 'limited') OR host_sign = 'good' AND (
        EXISTS (SELECT FROM circuit WHERE circuit.host = ended.host)
        OR EXISTS (SELECT FROM host_sign AS earlier WHERE earlier.host = ended.host))
    ORDER BY seq
), settled AS (
    UPDATE job SET
        attempts = job.attempts + ended.charged::int,
        lost = job.lost + ended.lost::int,
        last_number = ended.number,
        started_at = coalesce(job.started_at, ended.started_at),
        error_class = CASE WHEN ended.fails THEN ended.error_class ELSE job.error_class END,
        error_code = CASE WHEN ended.fails THEN ended.error_code ELSE job.error_code END,
        error_detail = CASE WHEN ended.fails THEN ended.error_detail ELSE job.error_detail END,
        error_at = CASE WHEN ended.fails THEN clock_timestamp() ELSE job.error_at END,
        final_state = CASE WHEN ended.was IS NULL THEN nullif(ended.next, 'queued') ELSE job.final_state END,
        finished_at = CASE WHEN ended.was IS NULL AND ended.next <> 'queued' THEN clock_timestamp() ELSE job.finished_at END,
        result_key = CASE WHEN ended.was IS NULL THEN ended.result_key END,
        result_size = CASE WHEN ended.was IS NULL THEN ended.result_size END,
        result_sha256 = CASE WHEN ended.was IS NULL THEN ended.result_sha256 END,
        result_content_type = CASE WHEN ended.was IS NULL THEN ended.result_content_type END,
        result_complete = CASE WHEN ended.was IS NULL THEN ended.result_complete END,
        result_meta = CASE WHEN ended.was IS NULL THEN ended.result_meta END,
        sealed = CASE WHEN ended.was IS NULL AND ended.next = 'succeeded' THEN substring(job.sealed FOR 0) ELSE job.sealed END
    FROM ended WHERE job.id = ended.job_id
        AND job.id = ANY (%(job_ids)s::uuid[]) AND job.id BETWEEN %(first_id)s::uuid AND %(last_id)s::uuid
    RETURNING ended.seq, job.id AS job_id, job.final_state, ended.was IS NULL AS applied,
        ended.paused_host
)
SELECT seq, job_id, final_state, applied, paused_host, false AS is_busy FROM settled
UNION ALL
SELECT lease.seq, lease.job_id, NULL, false, NULL, true
FROM told JOIN lease ON lease.seq = told.seq
JOIN job ON job.id = lease.job_id
    AND job.id = ANY (%(job_ids)s::uuid[]) AND job.id BETWEEN %(first_id)s::uuid AND %(last_id)s::uuid
WHERE (SELECT count(*) FROM locked) < cardinality(%(job_ids)s::uuid[])
    AND lease.job_id NOT IN (SELECT id FROM locked)
