-- Whether an endpoint is switched off; no row: it is not.
-- FR-9, case S4.
SELECT 1 AS one FROM endpoint
WHERE tenant_id = %(tenant_id)s::bigint AND mark = ANY (%(marks)s::bytea[]) AND off_at IS NOT NULL LIMIT 1
