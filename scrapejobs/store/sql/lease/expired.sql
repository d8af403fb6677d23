-- Leases that ran out, with what the planner needs.
-- NFR-7, P9. The sweeper reports them as lost; `report` checks the fence again under the job's lock.
SELECT lease.seq, lease.job_id, lease.number, lease.worker, job.attempts, job.lost, job.max_attempts, job.params,
    extract(epoch FROM job.deadline_at - clock_timestamp())::float8 AS remaining_s
FROM lease JOIN job ON job.id = lease.job_id
WHERE lease.expires_at < coalesce(%(now)s::timestamptz, clock_timestamp())
ORDER BY lease.expires_at LIMIT %(limit)s::int
