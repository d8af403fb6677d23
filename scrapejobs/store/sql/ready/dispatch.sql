-- Moves picked entries from their queues to ready, if this dispatcher's epoch still holds; a take-over waits for it.
-- NFR-6; ADR-0006. `leads` is 0 when the epoch is over. An entry cancelled meanwhile is not among `moved`.
WITH me AS MATERIALIZED (
    SELECT 1 FROM dispatcher WHERE epoch = %(epoch)s::bigint AND expires_at > clock_timestamp() FOR SHARE
), moved AS (
    DELETE FROM queued WHERE seq = ANY (%(seqs)s::bigint[]) AND EXISTS (SELECT FROM me)
    RETURNING seq, job_id, priority, tenant_id, host, queued_at
), put AS (
    INSERT INTO ready (seq, job_id, priority, tenant_id, host, queued_at)
    SELECT seq, job_id, priority, tenant_id, host, queued_at
    FROM unnest(%(seqs)s::bigint[]) WITH ORDINALITY u (seq, place) JOIN moved USING (seq) ORDER BY place
    RETURNING seq, pos
)
SELECT (SELECT count(*) FROM me) AS leads, (SELECT array_agg(seq) FROM put) AS moved, (SELECT max(pos) FROM put) AS last_pos
