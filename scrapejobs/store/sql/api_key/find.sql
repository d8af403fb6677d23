-- A key in force, by its public id.
-- FR-12, NFR-5.
SELECT secret_sha256, tenant_id, scopes FROM api_key WHERE public_id = %(public_id)s::text AND revoked_at IS NULL
