-- Which of the entries that the dispatcher handed out still wait or run (what is absent has ended), and who takes jobs.
-- NFR-6, NFR-8; ADR-0022, ADR-0027. Index probes, never a scan. A row with `pos` waits, one with `age_s` was claimed so long
-- ago. A row with `slots` is a worker, known by its heartbeat: the demand. A row with `asks` is an attempt that asks for a
-- permit at that host; those that are `known` are left out.
SELECT seq, pos, NULL::uuid AS worker_id, NULL::float8 AS age_s, NULL::text AS asks, NULL::timestamptz AS asked_at,
    NULL::int AS slots
FROM ready WHERE seq = ANY (%(seqs)s::bigint[])
UNION ALL
SELECT seq, NULL, worker_id, extract(epoch FROM clock_timestamp() - started_at)::float8, NULL, NULL, NULL
FROM lease WHERE seq = ANY (%(seqs)s::bigint[])
UNION ALL
SELECT seq, NULL, NULL, NULL, host, asked_at, NULL
FROM permit WHERE given_at IS NULL AND seq <> ALL (%(known)s::bigint[])
UNION ALL
SELECT NULL, NULL, id, NULL, NULL, NULL, slots FROM service
WHERE role = 'worker' AND NOT draining AND seen_at > clock_timestamp() - make_interval(secs => %(alive_s)s::float8)
