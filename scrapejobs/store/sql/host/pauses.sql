-- Which of these rows pause their hosts now; `until` is NULL for one that has no end.
-- FR-4, case S22.
SELECT name, CASE WHEN paused_until < 'infinity' THEN paused_until END AS until
FROM host WHERE name = ANY (%(names)s::text[]) AND paused_until > clock_timestamp()
