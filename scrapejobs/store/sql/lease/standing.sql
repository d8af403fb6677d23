-- Which of a worker's leases stand, and whether their job was cancelled meanwhile.
-- FR-5, P7.
SELECT lease.seq, job.final_state IS NOT NULL AS is_final
FROM lease JOIN job ON job.id = lease.job_id
WHERE lease.seq = ANY (%(seqs)s::bigint[])
