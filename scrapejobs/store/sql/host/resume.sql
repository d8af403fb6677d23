-- Ends pauses of one reason, or of any.
-- FR-11.
UPDATE host SET paused_until = NULL, pause_reason = NULL
WHERE name = %(name)s::text AND paused_until > clock_timestamp()
    AND (%(reason)s::text IS NULL OR pause_reason = %(reason)s::text)
RETURNING name
