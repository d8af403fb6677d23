-- Keeps changed circuits, forgets those of hosts that are well, and notes in the history which opened or closed.
-- NFR-6, FR-11.
WITH told AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(circuits)s::jsonb) AS t (
        host text, failures integer, busy integer, successes integer, retry_at timestamptz, reason text,
        share float8, cut_at timestamptz, change text)
), gone AS (
    DELETE FROM circuit USING told WHERE circuit.host = told.host AND told.failures = 0 AND told.retry_at IS NULL AND told.share = 1
), kept AS (
    INSERT INTO circuit (host, failures, busy, successes, retry_at, reason, share, cut_at)
    SELECT host, failures, busy, successes, retry_at, reason, share, cut_at FROM told
    WHERE failures > 0 OR retry_at IS NOT NULL OR share < 1 ORDER BY host
    ON CONFLICT (host) DO UPDATE SET failures = excluded.failures, busy = excluded.busy,
        successes = excluded.successes, retry_at = excluded.retry_at, reason = excluded.reason,
        share = excluded.share, cut_at = excluded.cut_at, changed_at = clock_timestamp()
)
INSERT INTO circuit_change (host, change, reason)
SELECT host, change, reason FROM told WHERE change IS NOT NULL ORDER BY host
RETURNING host, change, reason
