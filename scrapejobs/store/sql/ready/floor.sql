-- Notes the smallest living position of ready.
-- ADR-0001.
SELECT setval('ready_floor', greatest(%(pos)s::bigint, 1)) AS floor
