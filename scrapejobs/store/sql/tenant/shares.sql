-- Weight and cap of every tenant.
-- FR-12, NFR-5.
SELECT id, weight, max_running FROM tenant
