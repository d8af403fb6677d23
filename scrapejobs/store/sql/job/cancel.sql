-- Makes an unfinished job cancelled. A lease it may have stays until its worker has let go of the host (ADR-0012).
-- FR-5, P2.
UPDATE job SET final_state = 'cancelled', finished_at = clock_timestamp()
WHERE id = %(id)s::uuid AND final_state IS NULL
RETURNING id
