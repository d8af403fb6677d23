-- How many of a tenant's jobs wait, counted no further than `limit`: for the cap on queued jobs.
-- FR-12. What runs is unfinished too, and is left out.
SELECT (
    SELECT count(*) FROM (
        SELECT FROM job WHERE tenant_id = %(tenant_id)s::bigint AND final_state IS NULL
        LIMIT %(limit)s::bigint + running.n) unfinished
) - running.n AS n
FROM (SELECT count(*) AS n FROM lease WHERE tenant_id = %(tenant_id)s::bigint) running
