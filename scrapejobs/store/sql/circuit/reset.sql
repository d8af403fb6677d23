-- A person closes a circuit, or takes back what was learned: the set rate holds again.
-- FR-11.
WITH gone AS (
    DELETE FROM circuit WHERE host = %(host)s::text AND (retry_at IS NOT NULL OR share < 1) RETURNING host
)
INSERT INTO circuit_change (host, change, reason) SELECT host, 'closed', 'operator' FROM gone RETURNING host
