-- Which objects are no job's result: of keys that were seen in the object store, those that nobody can name any more.
-- NFR-9; ADR-0019. One snapshot: a report lets the lease go and names the key in one statement, so no key is between.
-- `is_unknown`: the job is not there though its day is still kept; `kept_from` is the lowest id of the kept days.
SELECT asked.key, job.id IS NULL AND (asked.job_id < %(kept_from)s::uuid) IS NOT TRUE AS is_unknown
FROM unnest(%(keys)s::text[], %(job_ids)s::uuid[], %(seqs)s::bigint[]) AS asked (key, job_id, seq)
LEFT JOIN job ON job.id = asked.job_id AND job.id = ANY (%(job_ids)s::uuid[])
WHERE job.result_key IS DISTINCT FROM asked.key
    AND NOT EXISTS (SELECT FROM lease WHERE lease.seq = asked.seq)
