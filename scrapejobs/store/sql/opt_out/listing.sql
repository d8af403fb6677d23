-- Every host that is not fetched because its owner does not want it.
-- NFR-6.
SELECT name, reason, created_at FROM opt_out ORDER BY name
