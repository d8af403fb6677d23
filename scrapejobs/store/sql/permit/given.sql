-- Which of the permits that a worker asked for were given, and how long ago: an old one must not be used any more.
-- NFR-6; ADR-0022.
SELECT seq, n, extract(epoch FROM clock_timestamp() - given_at)::float8 AS age_s
FROM permit WHERE seq = ANY (%(seqs)s::bigint[]) AND given_at IS NOT NULL
