-- Every delivery of a job with every try of it, oldest first; a row without an event for a job without a delivery.
-- FR-9, NFR-5, case S4; api.md.
SELECT delivery.event_id, event.status AS told, delivery.url, delivery.state, delivery.created_at, delivery.next_try_at,
    delivery.redelivered_at, endpoint.origin, endpoint.failing_since, endpoint.off_at, endpoint.reason,
    delivery_try.number, delivery_try.at, delivery_try.duration_s, delivery_try.status, delivery_try.error,
    delivery_try.next_try_at AS then_at
FROM job
LEFT JOIN delivery ON delivery.job_id = job.id
LEFT JOIN event ON event.id = delivery.event_id
LEFT JOIN endpoint ON endpoint.tenant_id = delivery.tenant_id AND endpoint.mark = delivery.endpoint
LEFT JOIN delivery_try ON delivery_try.event_id = delivery.event_id
WHERE job.id = %(id)s::uuid AND job.tenant_id = %(tenant_id)s::bigint
ORDER BY delivery.event_id, delivery_try.number
