-- Locks a job's row: the first lock of every verb that settles one job (ADR-0013).
-- FR-5; `tenant_id` NULL means any tenant (operators).
SELECT id, tenant_id, final_state, published_at, deadline_at < clock_timestamp() AS overdue FROM job
WHERE id = %(id)s::uuid AND (%(tenant_id)s::bigint IS NULL OR tenant_id = %(tenant_id)s::bigint)
FOR UPDATE
