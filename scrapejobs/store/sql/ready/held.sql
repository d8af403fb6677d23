-- What former dispatchers handed out and still counts as load.
-- NFR-6; ADR-0006.
SELECT seq, tenant_id, host FROM ready UNION ALL SELECT seq, tenant_id, host FROM lease
