-- Which of these hosts are held back by their circuits, and when each lets a trial through.
-- FR-4, case S22.
SELECT host, retry_at FROM circuit WHERE host = ANY (%(hosts)s::text[]) AND retry_at IS NOT NULL
