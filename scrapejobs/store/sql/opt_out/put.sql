-- Puts a host on the list of those that are not fetched; a reason that is there is replaced.
-- NFR-6.
INSERT INTO opt_out (name, reason) VALUES (%(name)s::text, %(reason)s::text)
ON CONFLICT (name) DO UPDATE SET reason = excluded.reason
RETURNING name
