-- A live process says that it is there, and with what capacity.
-- FR-13.
INSERT INTO service (id, role, name, hostname, pid, slots, draining)
VALUES (%(id)s::uuid, %(role)s::text, %(name)s::text, %(hostname)s::text, %(pid)s::int, %(slots)s::int, %(draining)s::boolean)
ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), slots = excluded.slots, draining = excluded.draining
RETURNING id
