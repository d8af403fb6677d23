-- Forgets the failures of an endpoint that took an event: it is on.
-- FR-9, case S4.
DELETE FROM endpoint WHERE tenant_id = %(tenant_id)s::bigint AND mark = ANY (%(marks)s::bytea[])
RETURNING origin, off_at IS NOT NULL AS was_off
