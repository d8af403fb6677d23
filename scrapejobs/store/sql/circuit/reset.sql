-- A person closes a circuit.
-- FR-11.
WITH gone AS (
    DELETE FROM circuit WHERE host = %(host)s::text AND retry_at IS NOT NULL RETURNING host
)
INSERT INTO circuit_change (host, change, reason) SELECT host, 'closed', 'operator' FROM gone RETURNING host
