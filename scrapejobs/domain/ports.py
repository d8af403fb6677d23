"""Which ports a target may have: 80, 443 and from 1024 on, less the ports of other protocols (NFR-11)."""

from dataclasses import dataclass
from typing import Final

_WEB: Final = frozenset({80, 443})
_FIRST_FREE: Final = 1024

# The Fetch standard's bad ports from 1024 on (section "port blocking").
_FETCH_BAD: Final = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566}
    | {6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
)
# What often trusts whoever reaches it. Numbers from IANA's registry and the servers' own manuals.
_DATABASES: Final = frozenset(
    {1433, 1434, 1521, 2424, 2483, 2484, 3050, 3306, 4333, 5432, 5433, 5439, 5984, 6379, 6380, 6432, 7000, 7199}
    | {7473, 7474, 7687, 8086, 8123, 8529, 8983, 9042, 9160, 9200, 9300, 11211, 16379, 26257, 26379, 27017, 27018}
    | {27019, 28015, 28017, 29015}
)
_QUEUES: Final = frozenset(
    {1883, 4150, 4151, 4222, 4369, 5671, 5672, 6650, 8222, 8883, 9092, 9093, 11300, 15671, 15672, 25672, 61613, 61616}
)
_ADMINISTRATION: Final = frozenset(
    {1080, 1099, 2181, 2375, 2376, 2377, 2378, 2379, 2380, 3128, 3260, 3389, 4001, 4194, 4243, 5037, 5555, 5900, 5901}
    | {5985, 5986, 6443, 7001, 7002, 8009, 8020, 8200, 8201, 8300, 8301, 8302, 8500, 8501, 8600, 9870, 10248, 10249}
    | {10250, 10255, 10256, 10257, 10259, 16443}
)
DENIED_PORTS: Final = _FETCH_BAD | _DATABASES | _QUEUES | _ADMINISTRATION


@dataclass(frozen=True, slots=True)
class PortPolicy:
    """The operator's say: `allow` wins over the lists here, `deny` wins over all."""

    allow: frozenset[int] = frozenset()
    deny: frozenset[int] = frozenset()

    def allows(self, port: int) -> bool:
        """Whether a target may be fetched on this port."""
        if port in self.deny:
            return False
        return port in self.allow or port in _WEB or (port >= _FIRST_FREE and port not in DENIED_PORTS)
