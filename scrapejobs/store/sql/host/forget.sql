-- Removes rows that say nothing any more: no limits, and a pause that is over.
-- FR-11.
DELETE FROM host WHERE rate IS NULL AND burst IS NULL AND concurrency IS NULL
    AND (paused_until IS NULL OR paused_until < clock_timestamp()) RETURNING name
