-- Gives the permits for which the dispatcher found room, if its epoch still holds; a take-over waits for it.
-- NFR-6; ADR-0006, ADR-0022. `leads` is 0 when the epoch is over. One whose lease is gone is not among `given`.
WITH me AS MATERIALIZED (
    SELECT 1 FROM dispatcher WHERE epoch = %(epoch)s::bigint AND expires_at > clock_timestamp() FOR SHARE
), given AS (
    UPDATE permit SET given_at = clock_timestamp()
    WHERE seq = ANY (%(seqs)s::bigint[]) AND given_at IS NULL AND EXISTS (SELECT FROM me)
    RETURNING seq
)
SELECT (SELECT count(*) FROM me) AS leads, (SELECT array_agg(seq) FROM given) AS given
