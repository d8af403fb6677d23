-- The opt-outs that speak of a host.
-- NFR-6. Its name and each `*.` parent are given, so that the primary key finds them.
SELECT name FROM opt_out WHERE name = ANY (%(names)s::text[])
