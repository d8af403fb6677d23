-- How many values are sealed, or marked, with which key: whether a rotation is through.
-- NFR-12; ADR-0025. Looks at every row; for a person, not for a loop.
SELECT 'requests' AS what, encode(substring(sealed FOR 4), 'hex') AS key, count(*) AS n
FROM job WHERE sealed <> '' GROUP BY 1, 2
UNION ALL
SELECT 'callback URLs', encode(substring(callback_sealed FOR 4), 'hex'), count(*)
FROM job WHERE callback_sealed IS NOT NULL GROUP BY 1, 2
UNION ALL
SELECT 'deliveries', encode(substring(sealed FOR 4), 'hex'), count(*) FROM delivery WHERE sealed IS NOT NULL GROUP BY 1, 2
UNION ALL
SELECT 'receipts', encode(substring(fingerprint FOR 4), 'hex'), count(*) FROM receipt GROUP BY 1, 2
ORDER BY 1, 2
