-- The clock that every time in the tables comes from.
-- ADR-0005.
SELECT clock_timestamp() AS now
