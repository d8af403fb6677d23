-- A person sends dead letters back: unpublished again, with fresh attempts and the deadline from now.
-- FR-10, api.md. The event of the end that this takes back is written before, by `job/finish` (P6).
UPDATE job SET final_state = NULL, finished_at = NULL, finish_published_at = NULL, discarded_at = NULL,
    published_at = NULL, attempts = 0, lost = 0, deadline_at = clock_timestamp() + make_interval(secs => deadline_s)
WHERE id = ANY(%(ids)s::uuid[]) AND final_state = 'failed' AND sealed IS DISTINCT FROM ''
RETURNING id
