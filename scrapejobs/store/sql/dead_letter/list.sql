-- Dead letters in the order of their index, some at a time: what was acted on leaves it, so a batch is always the first.
-- FR-10. The conditions are those of the index job_dead_letter.
SELECT job.id, tenant.name AS tenant, job.host, job.error_class AS class, job.error_code AS code,
    job.attempts, job.finished_at, job.url
FROM job LEFT JOIN tenant ON tenant.id = job.tenant_id
WHERE final_state = 'failed' AND discarded_at IS NULL
    AND (%(host)s::text IS NULL OR host = %(host)s::text)
    AND (%(class)s::text IS NULL OR error_class = %(class)s::text)
    AND (%(code)s::text IS NULL OR error_code = %(code)s::text)
    AND (%(tenant_id)s::bigint IS NULL OR tenant_id = %(tenant_id)s::bigint)
    AND (%(since)s::timestamptz IS NULL OR finished_at >= %(since)s::timestamptz)
    AND (%(until)s::timestamptz IS NULL OR finished_at <= %(until)s::timestamptz)
ORDER BY job.host, job.error_class, job.error_code, job.id
LIMIT %(limit)s::bigint
