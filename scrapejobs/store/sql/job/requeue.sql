-- A person sends a dead letter back: unpublished again, with a fresh set of attempts and its deadline from now.
-- FR-10, api.md.
UPDATE job SET final_state = NULL, finished_at = NULL, finish_published_at = NULL, discarded_at = NULL,
    published_at = NULL, attempts = 0, lost = 0, deadline_at = clock_timestamp() + (deadline_at - created_at)
WHERE id = %(id)s::uuid AND final_state = 'failed'
RETURNING id
