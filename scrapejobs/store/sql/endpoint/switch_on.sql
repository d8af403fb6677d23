-- A person switches endpoints on: their failures are forgotten.
-- FR-9, case S4.
DELETE FROM endpoint WHERE id = ANY (%(ids)s::bigint[]) RETURNING id
