-- The day partitions of job, oldest first.
-- NFR-9.
SELECT child.relname::text AS name FROM pg_inherits
JOIN pg_class child ON child.oid = inhrelid
WHERE inhparent = 'job'::regclass ORDER BY 1
