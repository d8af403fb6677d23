-- Writes requests and callback URLs anew, masked and sealed.
-- NFR-12; ADR-0025. The rows are locked by `job/to_reseal`.
UPDATE job SET url = new.url, params = new.params::jsonb, sealed = new.sealed,
    callback_url = new.callback_url, callback_sealed = new.callback_sealed
FROM unnest(%(ids)s::uuid[], %(urls)s::text[], %(params)s::text[], %(sealed)s::bytea[], %(callback_urls)s::text[],
    %(callbacks_sealed)s::bytea[]) AS new (id, url, params, sealed, callback_url, callback_sealed)
WHERE job.id = new.id AND job.id = ANY (%(ids)s::uuid[])
