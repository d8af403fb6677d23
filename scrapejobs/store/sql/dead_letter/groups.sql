-- The backlog by incident: a hundred 401s from one host are one line.
-- FR-10. The conditions are those of the index job_dead_letter.
SELECT host, error_class AS class, error_code AS code, count(*) AS jobs, min(finished_at) AS first_at, max(finished_at) AS last_at
FROM job
WHERE final_state = 'failed' AND discarded_at IS NULL
    AND (%(host)s::text IS NULL OR host = %(host)s::text)
    AND (%(class)s::text IS NULL OR error_class = %(class)s::text)
    AND (%(code)s::text IS NULL OR error_code = %(code)s::text)
    AND (%(tenant_id)s::bigint IS NULL OR tenant_id = %(tenant_id)s::bigint)
    AND (%(since)s::timestamptz IS NULL OR finished_at >= %(since)s::timestamptz)
    AND (%(until)s::timestamptz IS NULL OR finished_at <= %(until)s::timestamptz)
GROUP BY host, error_class, error_code
ORDER BY jobs DESC, last_at DESC, host, class, code
LIMIT %(limit)s::bigint
