-- Redirected attempts let go of their hosts and ask for room at the next ones.
-- NFR-6; ADR-0022. Who has no lease asks for nothing: its row is locked (FOR KEY SHARE, ADR-0013), so a report that
-- deletes it comes before or after, and no row is left behind. A late statement has a smaller n and changes nothing.
WITH mine AS MATERIALIZED (
    SELECT lease.seq, asked.host, asked.n
    FROM unnest(%(seqs)s::bigint[], %(hosts)s::text[], %(ns)s::bigint[]) AS asked (seq, host, n)
    JOIN lease ON lease.seq = asked.seq
    ORDER BY lease.seq FOR KEY SHARE OF lease
)
INSERT INTO permit (seq, host, n) SELECT seq, host, n FROM mine
ON CONFLICT (seq) DO UPDATE SET host = excluded.host, n = excluded.n, asked_at = excluded.asked_at, given_at = NULL
    WHERE permit.n < excluded.n
