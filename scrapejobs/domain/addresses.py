"""Which addresses may be dialled: one table of named networks, and the operator's two lists (NFR-11).

Explicit lists, since `ipaddress.is_global` of Python 3.11 says yes to NAT64, 6to4, multicast and more.
Source: the IANA special-purpose address registries for IPv4 and IPv6, and the clouds' metadata addresses.
"""

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Verdict(StrEnum):
    """What is said of an address; only `ALLOW` may be dialled."""

    ALLOW = "allow"
    DENY_LOOPBACK = "deny-loopback"
    DENY_PRIVATE = "deny-private"
    DENY_LINK_LOCAL = "deny-link-local"
    DENY_METADATA = "deny-metadata"
    DENY_EMBEDDED_V4 = "deny-embedded-v4"
    DENY_MULTICAST = "deny-multicast"
    DENY_SPECIAL = "deny-special"
    DENY_UNALLOCATED = "deny-unallocated"
    DENY_BY_OPERATOR = "deny-by-operator"


# The first network that holds an address gives its verdict.
_TABLE: tuple[tuple[Verdict, tuple[str, ...]], ...] = (
    (
        Verdict.DENY_METADATA,
        (
            "169.254.169.254/32",  # AWS, Google, Azure, Oracle
            "169.254.170.2/32",  # AWS container credentials
            "169.254.170.23/32",  # AWS pod identity
            "100.100.100.200/32",  # Alibaba
            "168.63.129.16/32",  # Azure wire server
            "192.0.0.192/32",  # Oracle, old
            "fd00:ec2::254/128",  # AWS over IPv6
            "fd00:ec2::/32",  # and what else it has there
            "fd20:ce::254/128",  # Google over IPv6
        ),
    ),
    (
        Verdict.DENY_LOOPBACK,
        ("127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"),
    ),  # 0/8 reaches localhost on Linux
    (
        Verdict.DENY_PRIVATE,
        (
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "100.64.0.0/10",  # carrier-grade NAT
            "fc00::/7",
            "fec0::/10",  # old site-local
        ),
    ),
    (Verdict.DENY_LINK_LOCAL, ("169.254.0.0/16", "fe80::/10")),
    (Verdict.DENY_MULTICAST, ("224.0.0.0/4", "ff00::/8")),
    (
        Verdict.DENY_EMBEDDED_V4,  # who translates may dial the IPv4 address inside
        (
            "::ffff:0:0/96",  # mapped
            "::/96",  # compatible
            "::ffff:0:0:0/96",  # SIIT
            "64:ff9b::/96",  # NAT64
            "64:ff9b:1::/48",  # NAT64, local use
            "2002::/16",  # 6to4
            "2001::/32",  # Teredo
        ),
    ),
    (
        Verdict.DENY_SPECIAL,
        (
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "198.51.100.0/24",
            "203.0.113.0/24",
            "192.31.196.0/24",  # AS112
            "192.175.48.0/24",
            "192.52.193.0/24",  # AMT
            "192.88.99.0/24",  # 6to4 relays
            "198.18.0.0/15",  # benchmarking
            "240.0.0.0/4",  # reserved, broadcast
            "100::/64",  # discard
            "100:0:0:1::/64",
            "2001::/23",  # protocol assignments: ORCHID, benchmarking ...
            "2001:db8::/32",  # documentation
            "3fff::/20",
            "2620:4f:8000::/48",  # AS112
            "5f00::/16",  # segment routing
        ),
    ),
)
_NETWORKS: tuple[tuple[Network, Verdict], ...] = tuple(
    (ip_network(text), verdict) for verdict, texts in _TABLE for text in texts
)
METADATA: tuple[Address, ...] = tuple(network[0] for network, verdict in _NETWORKS if verdict is Verdict.DENY_METADATA)
"""An address of every cloud's metadata service."""

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_ISATAP_MARKS = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")  # RFC 5214: then four bytes of IPv4


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The operator's say: `allow` wins over the default denial, `deny` wins over all."""

    allow: tuple[Network, ...] = ()
    deny: tuple[Network, ...] = ()

    def verdict(self, address: Address) -> Verdict:
        """Whether this address may be dialled, and if not, why."""
        if any(address in network for network in self.deny):
            return Verdict.DENY_BY_OPERATOR
        if any(address in network for network in self.allow):
            return Verdict.ALLOW
        return _default_verdict(address)


def _default_verdict(address: Address) -> Verdict:
    for network, verdict in _NETWORKS:
        if address in network:
            return verdict
    if isinstance(address, IPv6Address):
        if address not in _GLOBAL_UNICAST:
            return Verdict.DENY_UNALLOCATED
        if address.packed[8:12] in _ISATAP_MARKS:
            return Verdict.DENY_EMBEDDED_V4
    return Verdict.ALLOW
