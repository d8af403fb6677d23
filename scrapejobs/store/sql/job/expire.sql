-- Fails a job whose deadline passed before it could start.
-- NFR-7, case S11.
UPDATE job SET final_state = 'failed', finished_at = clock_timestamp(), error_class = 'permanent',
    error_code = 'deadline_exceeded', error_detail = %(detail)s::text, error_at = clock_timestamp()
WHERE id = %(id)s::uuid AND final_state IS NULL AND deadline_at < clock_timestamp()
RETURNING id
