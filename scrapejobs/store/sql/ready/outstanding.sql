-- Which of the entries that the dispatcher handed out still wait or run, and by which worker: what is absent has ended.
-- NFR-6. Index probes, never a scan.
SELECT seq, pos, NULL::uuid AS worker_id FROM ready WHERE seq = ANY (%(seqs)s::bigint[])
UNION ALL
SELECT seq, NULL, worker_id FROM lease WHERE seq = ANY (%(seqs)s::bigint[])
