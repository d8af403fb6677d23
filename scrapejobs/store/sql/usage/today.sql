-- How many jobs a tenant has handed in today, by UTC, and the seconds that are left of the day.
-- FR-12.
SELECT coalesce((
        SELECT jobs FROM usage
        WHERE tenant_id = %(tenant_id)s::bigint AND day = (clock_timestamp() AT TIME ZONE 'UTC')::date), 0) AS jobs,
    86400 - extract(epoch FROM clock_timestamp())::bigint %% 86400 AS left_s
