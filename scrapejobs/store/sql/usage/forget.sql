-- Forgets the counts of old days.
-- FR-12.
DELETE FROM usage
WHERE day < ((clock_timestamp() - make_interval(secs => %(keep_s)s::float8)) AT TIME ZONE 'UTC')::date
RETURNING tenant_id
