-- Every attempt of a job, the one under way last; no row at all when the tenant has no such job.
-- FR-7, NFR-5.
SELECT attempt.number, attempt.worker, attempt.started_at, attempt.finished_at, attempt.outcome, attempt.code,
    attempt.detail, attempt.charged, attempt.target_status, attempt.phase, attempt.bytes, attempt.exchange
FROM job LEFT JOIN LATERAL (
    SELECT a.number, a.seq, a.worker, a.started_at, a.finished_at, a.outcome, a.code, a.detail, a.charged,
        a.target_status, a.phase, a.bytes, a.exchange
    FROM attempt a WHERE a.job_id = job.id
    UNION ALL
    SELECT l.number, l.seq, l.worker, l.started_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM lease l WHERE l.job_id = job.id
) attempt ON true
WHERE job.id = %(id)s::uuid AND job.tenant_id = %(tenant_id)s::bigint
ORDER BY attempt.number, attempt.seq
