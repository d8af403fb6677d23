-- Jobs whose secrets may be sealed with another key than this one, or not at all, some at a time.
-- NFR-12; ADR-0025. SQL knows no secrets: whether a row without a seal has any, the caller finds out.
SELECT id, url, params, sealed, callback_url, callback_sealed,
    final_state IN ('succeeded', 'cancelled') OR discarded_at IS NOT NULL AS is_over
FROM job
WHERE (%(after)s::uuid IS NULL OR id > %(after)s::uuid) AND (
    CASE WHEN sealed IS NOT NULL THEN sealed <> '' AND substring(sealed FOR 4) <> %(key_id)s::bytea
        ELSE url LIKE '%%?%%' OR params ->> 'body' IS NOT NULL OR params ->> 'json' IS NOT NULL
            OR params -> 'headers' <> '{}' OR params -> 'query' <> '{}' END
    OR CASE WHEN callback_sealed IS NOT NULL THEN substring(callback_sealed FOR 4) <> %(key_id)s::bytea
        ELSE callback_url IS NOT NULL END)
ORDER BY id LIMIT %(limit)s::int
FOR UPDATE SKIP LOCKED
