-- Which of these rows pause their hosts now; `until` is NULL for one that has no end (`host/pause.sql`).
-- FR-4, case S22.
SELECT name, nullif(paused_until, '9999-01-01Z') AS until
FROM host WHERE name = ANY (%(names)s::text[]) AND paused_until > clock_timestamp()
