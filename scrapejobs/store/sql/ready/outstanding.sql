-- Which of the entries that the dispatcher handed out still wait or run (what is absent has ended), and who takes jobs.
-- NFR-6, NFR-8; ADR-0022, ADR-0027. Index probes, never a scan; few rows, for it is asked at each pass. A row with `ages_s` holds
-- what a worker runs, each with how long ago it was claimed. A row with `slots` is a worker, known by its heartbeat: the
-- demand. A row with `asks` is an attempt that asks for a permit at that host; those that are `known` are left out. One
-- row, with none of these, holds what waits, and its smallest position.
SELECT array_agg(seq) AS seqs, min(pos) AS pos, NULL::uuid AS worker_id, NULL::float8[] AS ages_s, NULL::text AS asks,
    NULL::timestamptz AS asked_at, NULL::int AS slots
FROM ready WHERE seq = ANY (%(seqs)s::bigint[])
UNION ALL
SELECT array_agg(seq), NULL, worker_id, array_agg(extract(epoch FROM clock_timestamp() - started_at)::float8), NULL, NULL,
    NULL
FROM lease WHERE seq = ANY (%(seqs)s::bigint[]) GROUP BY worker_id
UNION ALL
SELECT ARRAY[seq], NULL, NULL, NULL, host, asked_at, NULL
FROM permit WHERE given_at IS NULL AND seq <> ALL (%(known)s::bigint[])
UNION ALL
SELECT NULL, NULL, id, NULL, NULL, NULL, slots FROM service
WHERE role = 'worker' AND NOT draining AND seen_at > clock_timestamp() - make_interval(secs => %(alive_s)s::float8)
