"""Which ports a target may have: 80, 443 and from 1024 on, less the ports of other protocols (NFR-11)."""

_WEB = frozenset({80, 443})
_FIRST_FREE = 1024

# The Fetch standard's bad ports from 1024 on (section "port blocking").
_FETCH_BAD = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566}
    | {6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
)
# What often trusts whoever reaches it.
_DATABASES = frozenset(
    {1433, 1434, 1521, 3050, 3306, 5432, 5433, 5984, 6379, 6380, 6432, 7000, 7199, 8086, 9042, 9160}
    | {9200, 9300, 11211, 26257, 27017, 27018, 27019, 28015, 28017}
)
_QUEUES = frozenset({1883, 4222, 4369, 5671, 5672, 8883, 9092, 9093, 11300, 15672, 25672, 61613, 61616})
_ADMINISTRATION = frozenset(
    {1080, 2181, 2375, 2376, 2377, 2379, 2380, 3128, 3389, 4243, 5900, 5901, 5985, 5986, 6443}
    | {8300, 8301, 8500, 8600, 10250, 10255, 10256}
)
DENIED_PORTS = _FETCH_BAD | _DATABASES | _QUEUES | _ADMINISTRATION


def is_port_allowed(port: int, *, deny: frozenset[int] = frozenset()) -> bool:
    """Whether a target may be fetched on this port; `deny` adds the operator's own."""
    if port in deny:
        return False
    return port in _WEB or (port >= _FIRST_FREE and port not in DENIED_PORTS)
