-- Every host that has limits, a pause, an open circuit or a learned share of its rate; a pause that is over is not told.
-- FR-11.
SELECT coalesce(host.name, circuit.host) AS name, host.rate, host.burst, host.concurrency,
    CASE WHEN host.paused_until > clock_timestamp() THEN host.paused_until END AS paused_until,
    CASE WHEN host.paused_until > clock_timestamp() THEN host.pause_reason END AS pause_reason,
    circuit.retry_at AS circuit_open_until, circuit.reason AS circuit_reason,
    CASE WHEN circuit.share < 1 THEN circuit.share END AS learned_share
FROM host FULL JOIN (SELECT * FROM circuit WHERE retry_at IS NOT NULL OR share < 1) circuit ON circuit.host = host.name
ORDER BY name
