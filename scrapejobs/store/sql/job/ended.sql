-- Which of these jobs have ended: for who waits and may not have been told.
-- FR-4; ADR-0034.
SELECT id FROM job WHERE id = ANY (%(ids)s::uuid[]) AND final_state IS NOT NULL
