-- A job of a day that is not final or whose finish event is not written: its day must stay.
-- NFR-3, NFR-9.
SELECT id FROM job
WHERE id >= %(from_id)s::uuid AND id < %(to_id)s::uuid
    AND (final_state IS NULL OR finish_published_at IS NULL)
LIMIT 1
