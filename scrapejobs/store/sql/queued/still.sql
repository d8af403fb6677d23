-- Which of the entries that the dispatcher remembers are still queued: the jobs of the others were cancelled or expired.
-- ADR-0006, cases S11 and S17. Index probes, never a scan.
SELECT seq FROM queued WHERE seq = ANY (%(seqs)s::bigint[])
