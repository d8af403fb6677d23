-- A job of a day that is not final, or whose finish event is not written, or that still has a lease: its day must stay.
-- NFR-3, NFR-9. Asked under the lock that drops the day, so each part reads an index or a table that holds next to nothing.
(SELECT id FROM job
WHERE id >= %(from_id)s::uuid AND id < %(to_id)s::uuid AND final_state IS NULL LIMIT 1)
UNION ALL
(SELECT id FROM job
WHERE id >= %(from_id)s::uuid AND id < %(to_id)s::uuid AND finish_published_at IS NULL AND final_state IS NOT NULL LIMIT 1)
UNION ALL
(SELECT job_id FROM lease WHERE job_id >= %(from_id)s::uuid AND job_id < %(to_id)s::uuid LIMIT 1)
