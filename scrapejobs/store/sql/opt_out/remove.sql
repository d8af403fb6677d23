-- Takes a host off the list of those that are not fetched.
-- NFR-6.
DELETE FROM opt_out WHERE name = %(name)s::text RETURNING name
