-- Which of the entries that the dispatcher handed out still wait or run, and by which worker: what is absent has ended.
-- NFR-6; ADR-0022. Index probes, never a scan. A row with `asks` is an attempt that asks for a permit at that host; those
-- that are `known` are left out.
SELECT seq, pos, NULL::uuid AS worker_id, NULL::text AS asks, NULL::timestamptz AS asked_at
FROM ready WHERE seq = ANY (%(seqs)s::bigint[])
UNION ALL
SELECT seq, NULL, worker_id, NULL, NULL FROM lease WHERE seq = ANY (%(seqs)s::bigint[])
UNION ALL
SELECT seq, NULL, NULL, host, asked_at FROM permit WHERE given_at IS NULL AND seq <> ALL (%(known)s::bigint[])
