-- The circuits of some hosts, kept from a reset by a person while they are changed.
-- NFR-6, FR-11.
SELECT host, failures, busy, successes, retry_at, reason, share, cut_at FROM circuit WHERE host = ANY (%(hosts)s::text[]) ORDER BY host FOR UPDATE
