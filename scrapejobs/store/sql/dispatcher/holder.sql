-- Who dispatches now; no row when nobody does.
-- FR-13; ADR-0006.
SELECT holder FROM dispatcher WHERE expires_at > clock_timestamp()
