-- The ids of one page of a tenant's jobs, newest first: below `below`, so that nothing moves between two pages.
-- FR-6, case S14. Ids sort by time; `from_id` and `to_id` say the time range in ids, which leaves out whole partitions.
SELECT job.id FROM job
WHERE job.tenant_id = %(tenant_id)s::bigint
    AND (%(below)s::uuid IS NULL OR job.id < %(below)s::uuid)
    AND (%(from_id)s::uuid IS NULL OR job.id >= %(from_id)s::uuid)
    AND (%(to_id)s::uuid IS NULL OR job.id < %(to_id)s::uuid)
    AND (%(created_after)s::timestamptz IS NULL OR job.created_at > %(created_after)s::timestamptz)
    AND (%(created_before)s::timestamptz IS NULL OR job.created_at < %(created_before)s::timestamptz)
    AND (%(host)s::text IS NULL OR job.host = %(host)s::text)
    AND (%(priority)s::smallint IS NULL OR job.priority = %(priority)s::smallint)
    AND (%(tags)s::jsonb IS NULL OR (job.tags @> %(tags)s::jsonb AND job.tags <> '{}'))
    AND (%(final_state)s::text IS NULL OR job.final_state = %(final_state)s::text)
    AND (NOT %(queued)s::boolean
        OR (job.final_state IS NULL AND NOT EXISTS (SELECT FROM lease WHERE lease.job_id = job.id)))
    AND (NOT %(running)s::boolean
        OR (job.final_state IS NULL AND job.id = ANY (ARRAY(
            SELECT lease.job_id FROM lease WHERE lease.tenant_id = %(tenant_id)s::bigint))))
ORDER BY job.id DESC
LIMIT %(limit)s::int
