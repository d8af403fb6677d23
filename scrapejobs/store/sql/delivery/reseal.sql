-- Writes the URLs of deliveries anew, masked and sealed.
-- NFR-12; ADR-0025. The rows are locked by `delivery/to_reseal`.
UPDATE delivery SET url = new.url, sealed = new.sealed
FROM unnest(%(ids)s::uuid[], %(urls)s::text[], %(sealed)s::bytea[]) AS new (id, url, sealed)
WHERE delivery.event_id = new.id
