-- Deliveries whose URL is sealed with another key than this one, or not at all, some at a time.
-- NFR-12; ADR-0025.
SELECT event_id AS id, job_id, url, sealed FROM delivery
WHERE (%(after)s::uuid IS NULL OR event_id > %(after)s::uuid)
    AND (sealed IS NULL OR substring(sealed FOR 4) <> %(key_id)s::bytea)
ORDER BY event_id LIMIT %(limit)s::int
FOR UPDATE SKIP LOCKED
