-- How many unfinished jobs match: told before a cancel of many, and the end of its progress.
-- FR-5, case S20. The conditions are those of `job/unfinished`.
SELECT count(*) AS n FROM job
WHERE final_state IS NULL
    AND (%(tenant_id)s::bigint IS NULL OR tenant_id = %(tenant_id)s::bigint)
    AND (%(host)s::text IS NULL OR host = %(host)s::text)
    AND (%(priority)s::smallint IS NULL OR priority = %(priority)s::smallint)
    AND (%(tags)s::jsonb IS NULL OR tags @> %(tags)s::jsonb)
    AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s::timestamptz)
    AND (%(until)s::timestamptz IS NULL OR created_at <= %(until)s::timestamptz)
    AND (%(running)s::boolean IS NULL
        OR EXISTS (SELECT FROM lease WHERE lease.job_id = job.id) = %(running)s::boolean)
