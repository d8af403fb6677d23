-- Makes unfinished jobs cancelled. A lease that one may have stays until its worker has let go of the host (ADR-0012).
-- FR-5, P2, case S20.
UPDATE job SET final_state = 'cancelled', finished_at = clock_timestamp(), sealed = substring(sealed FOR 0)
WHERE id = ANY(%(ids)s::uuid[]) AND final_state IS NULL
RETURNING id
