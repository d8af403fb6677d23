-- A place of this connection's own, for the jobs of one bulk until they are taken in.
-- FR-3. `place` is the item's number in the bulk.
CREATE TEMP TABLE IF NOT EXISTS incoming (
    place integer NOT NULL, id uuid NOT NULL, tenant_id bigint NOT NULL, priority smallint NOT NULL, url text NOT NULL,
    host text NOT NULL, params jsonb NOT NULL, sealed bytea, callback_url text, callback_sealed bytea, tags jsonb NOT NULL,
    max_attempts smallint NOT NULL, deadline_s float8 NOT NULL, key text, fingerprint bytea
) ON COMMIT DELETE ROWS
