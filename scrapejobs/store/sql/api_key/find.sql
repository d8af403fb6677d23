-- A key in force, by its public id, and what its tenant may do at the API.
-- FR-12, NFR-5.
SELECT api_key.id, api_key.secret_sha256, api_key.tenant_id, api_key.scopes, tenant.rate, tenant.burst, tenant.daily,
    tenant.max_queued, tenant.robots
FROM api_key JOIN tenant ON tenant.id = api_key.tenant_id
WHERE api_key.public_id = %(public_id)s::text AND api_key.revoked_at IS NULL
