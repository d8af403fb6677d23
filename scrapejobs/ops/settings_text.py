"""What each setting means, in the order of the page."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SECTIONS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "Servers": {
            "database_url": "PostgreSQL, 15 to 18: `postgresql://user:password@host:port/name`.",
            "redis_url": "Valkey or Redis: cache and wake-ups. Nothing is lost without it.",
            "s3_endpoint_url": "The object store that holds the results.",
            "s3_public_endpoint_url": "The object store's address in links for clients; the one above unless set.",
            "s3_bucket": "The bucket for results.",
            "s3_region": "The region in signatures.",
            "s3_access_key_id": "The object store's access key.",
            "s3_secret_access_key": "Its secret.",
        },
        "Processes": {
            "data_dir": "Where `manage.py up` keeps its servers, keys and `stack.env`.",
            "port": "The gateway's port.",
            "workers": "How many workers `manage.py up` starts.",
            "bind": "The address that the gateway and the probes listen on.",
            "metrics_port": "Where a role serves `/metrics`, `/healthz` and `/readyz`; 0 for any free port.",
            "slots": "How many jobs a worker runs at once.",
            "surface": "Which part of the API a gateway serves: intake (writes), query (reads), or all with the admin.",
            "gateway_threads": "How many requests a gateway answers at once.",
            "body_timeout_s": "How long a request's body may take to come; then 408.",
            "job_cache_s": "How old an answer about a job that may still change can be; 0: no cache.",
            "grace_s": "How long a process may drain after SIGTERM.",
            "failpoint": "For tests of crashes only: where a process kills itself, such as `report:committed`.",
        },
        "Web": {
            "secret_key": "Signs cursors and sessions. 32 characters or more, the same for all gateways.",
            "sealing_keys": "Seal the secrets of jobs. 32 characters or more each, the same for gateways, workers and"
            " couriers. The first one seals, all open: see [rotate keys](../howto/rotate-keys.md).",
            "allowed_hosts": "Host names that the gateway answers to.",
            "api_url": "The API's address as clients reach it; `manage.py scrape` uses it too.",
        },
        "Limits of the API": {
            "api_rate": "Requests a second of a key whose tenant has no rate of its own.",
            "api_burst": "Requests at once after a quiet time.",
            "stranger_rate": "Requests a second from one address that show no key in force.",
            "stranger_burst": "As many at once.",
            "trusted_proxies": "Networks of the proxies before the gateway, whose `X-Forwarded-For` is believed: "
            "`10.0.0.0/8`. Without it the address of the connection counts.",
            "key_cache_s": "How long a gateway relies on what it knows of a key, if it hears of no change.",
            "gateways": "How many gateways there are: while Valkey is away each grants its share of a limit.",
        },
        "Leases and loops": {
            "lease_s": "How long a worker's lease holds without renewal.",
            "renew_s": "How often leases are renewed; a third of the lease unless set, and at most half.",
            "sweep_s": "How often expired leases are looked for.",
            "dispatch_lease_s": "How long the dispatch lease holds without renewal.",
            "ready_ttl_s": "How long a ready job may wait for a worker before it goes back to its queue.",
            "poll_s": "How often loops look for work when no wake-up comes.",
            "heartbeat_s": "How often a process announces itself.",
        },
        "Retry policy": {
            "retry_base_s": "The first backoff; it doubles with each attempt, with full jitter.",
            "retry_cap_s": "The longest backoff.",
            "retry_after_cap_s": "The longest wait that a target's `Retry-After` can ask for.",
            "max_attempts": "Attempts of a job that does not say.",
            "max_attempts_cap": "The most that a job may ask for.",
            "max_lost": "How many workers a job may lose before it fails as poison.",
            "deadline_s": "A job's deadline when it does not say.",
            "deadline_cap_s": "The longest that a job may ask for.",
        },
        "Fetch limits": {
            "timeout_s": "For one attempt, unless the job says otherwise.",
            "timeout_cap_s": "The longest that a job may ask for.",
            "dns_timeout_s": "For one name look-up.",
            "connect_timeout_s": "For one connection.",
            "max_bytes": "Body size, after decoding, unless the job says otherwise.",
            "max_bytes_cap": "The largest that a job may ask for.",
            "max_redirects": "Redirects followed in one attempt.",
            "max_header_bytes": "One header line of an answer.",
            "max_headers": "Header lines of an answer.",
            "max_headers_bytes": "All header lines of an answer together.",
            "min_rate_bytes_s": "A body that comes slower is given up; 0 for any rate.",
            "min_rate_after_s": "From when on that is looked at.",
            "user_agent": "The `User-Agent`, unless the job names one of its own.",
            "contact": "An address or page for those who wonder who fetches: added to the `User-Agent`.",
        },
        "What may be reached": {
            "egress_allow": "Networks that may be fetched though the default denies them: `127.0.0.0/8` for tests. "
            "Cloud metadata and the service's own servers stay denied.",
            "egress_deny": "Networks that may not be fetched, whatever else says so.",
            "ports_allow": "Ports that may be fetched though the built-in lists, or being below 1024, deny them.",
            "ports_deny": "Ports that may not be fetched, whatever else says so.",
            "own_endpoints": "Further servers of yours, as `host:port`, that no job may reach whatever is allowed. "
            "The servers that other settings name, and each process's own ports, are among them anyway.",
            "egress_proxy": "An HTTP proxy, `http://[user:password@]host[:port]`, through which jobs and deliveries "
            "go. It is asked to CONNECT to addresses, on all ports that may be fetched.",
            "callback_allow_http": "Whether a `callback_url` may be plain http.",
        },
        "Manners": {
            "robots": "Whether all jobs obey robots.txt. A tenant's row and a job can ask for it too.",
            "robots_keep_s": "How long a robots.txt is kept.",
        },
        "Politeness": {
            "host_rate": "Requests a second to a host without a row of its own.",
            "host_burst": "Requests at once after a quiet time.",
            "host_concurrency": "Simultaneous connections.",
            "host_rate_learns": "Whether a host's rate is halved when it answers 429 or 503, and grows back with good "
            "answers: the learned share is shown beside the rate.",
            "circuit_error_threshold": "After how many failures in a row a host's circuit opens.",
            "circuit_success_threshold": "After how many good trials in a row it closes.",
            "circuit_timeout_s": "How long nothing is started at the host; then one trial at a time.",
        },
        "Webhooks": {
            "callback_timeout_s": "For one try of a delivery.",
            "deliveries_at_once": "How many deliveries a courier makes at once.",
            "endpoint_off_after_s": "How long a receiver may take no event before it is switched off.",
        },
        "Keeping": {
            "retention_days": "How long jobs and results are kept.",
            "receipt_ttl_s": "How long an `Idempotency-Key` holds.",
            "failed_secrets_s": "How long a failed job keeps its secrets; after that it cannot be requeued.",
            "link_ttl_s": "How long a signed link holds.",
            "partitions_ahead_days": "How many days of partitions are made ahead.",
        },
    }
)
