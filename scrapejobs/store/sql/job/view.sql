-- Jobs as clients see them: the rows of one tenant by id, each with its place as far as a status needs it.
-- FR-4, FR-6, NFR-5; ADR-0012.
SELECT job.id, job.url, job.host, job.params, job.priority, job.tags, job.attempts, job.max_attempts, job.created_at,
    job.published_at, coalesce(job.started_at, lease.started_at) AS started_at, job.finished_at, job.final_state,
    job.error_class, job.error_code, job.error_detail, job.error_at, job.result_key, job.result_size, job.result_sha256,
    job.result_content_type, job.result_complete, lease.seq IS NOT NULL AS is_leased, delayed.due_at
FROM job
LEFT JOIN lease ON lease.job_id = job.id
LEFT JOIN delayed ON delayed.job_id = job.id
WHERE job.id = ANY (%(ids)s::uuid[]) AND job.tenant_id = %(tenant_id)s::bigint
ORDER BY job.id DESC
