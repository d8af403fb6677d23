-- A process says goodbye.
-- FR-13.
DELETE FROM service WHERE id = %(id)s::uuid RETURNING id
