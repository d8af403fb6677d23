-- Makes several unfinished jobs cancelled, as `job/cancel` does one.
-- FR-5, P2, case S20.
UPDATE job SET final_state = 'cancelled', finished_at = clock_timestamp()
WHERE id = ANY(%(ids)s::uuid[]) AND final_state IS NULL
RETURNING id
