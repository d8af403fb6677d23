"""Which addresses may be dialled: one table of named networks, the operator's two lists, and our own servers (NFR-11).

Explicit lists, since `ipaddress.is_global` of Python 3.11 says yes to NAT64, 6to4, multicast and more. Sources, as of
2026-11: IANA's special-purpose address registries (iana-ipv4-special-registry, iana-ipv6-special-registry), its
multicast and IPv6 address space registries, RFC 3879 (site-local), RFC 5156 (6bone), and each cloud's own manual.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from urllib.parse import urlsplit

from scrapejobs.domain.ports import PortPolicy

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Endpoint = tuple[str, int]
"""Host and port of a server; the host is a name or an address."""


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
    DENY_OWN_ENDPOINT = "deny-own-endpoint"


# The first network that holds an address gives its verdict.
_TABLE: tuple[tuple[Verdict, tuple[str, ...]], ...] = (
    (
        Verdict.DENY_METADATA,
        (
            "169.254.169.254/32",  # AWS, Google, Azure, Oracle, OpenStack, DigitalOcean, Hetzner, IBM, Huawei ...
            "169.254.170.2/32",  # AWS container credentials
            "169.254.170.23/32",  # AWS pod identity
            "169.254.169.252/32",  # Google, for pods
            "169.254.0.23/32",  # Tencent
            "169.254.42.42/32",  # Scaleway
            "100.100.100.200/32",  # Alibaba
            "168.63.129.16/32",  # Azure wire server
            "192.0.0.192/32",  # Oracle, old
            "fd00:ec2::254/128",  # AWS over IPv6
            "fd00:ec2::23/128",  # AWS pod identity over IPv6
            "fd20:ce::254/128",  # Google over IPv6
            "fd00:c1::a9fe:a9fe/128",  # Oracle over IPv6
            "fd00:42::42/128",  # Scaleway over IPv6
            "fd00:a9fe:a9fe::1/128",  # Linode over IPv6
            "fe80::a9fe:a9fe/128",  # OpenStack over IPv6
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
            "3ffe::/16",  # 6bone, given back
            "2620:4f:8000::/48",  # AS112
            "5f00::/16",  # segment routing
        ),
    ),
)
_NETWORKS: tuple[tuple[Network, Verdict], ...] = tuple(
    (ip_network(text), verdict) for verdict, texts in _TABLE for text in texts
)

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_ISATAP_MARKS = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")  # RFC 5214: then four bytes of IPv4
_6TO4, _TEREDO = IPv6Network("2002::/16"), IPv6Network("2001::/32")


@dataclass(slots=True)
class OwnEndpoints:
    """Host and port of each server that is the service's own. `addresses` may be set anew as look-ups of names tell."""

    names: frozenset[Endpoint] = frozenset()
    addresses: frozenset[tuple[Address, int]] = frozenset()

    def has(self, address: Address, port: int) -> bool:
        """Whether a server of ours is there. On this machine's loopback every address stands for every other."""
        if _default_verdict(address) is not Verdict.DENY_LOOPBACK:
            return (address, port) in self.addresses
        return any(port == p and _default_verdict(a) is Verdict.DENY_LOOPBACK for a, p in self.addresses)


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The operator's say. `allow` wins over the default denial, `deny` wins over `allow`, and nothing wins over the
    denial of our own servers and of cloud metadata.
    """

    allow: tuple[Network, ...] = ()
    deny: tuple[Network, ...] = ()
    ports: PortPolicy = field(default_factory=PortPolicy)
    own: OwnEndpoints = field(default_factory=OwnEndpoints, compare=False)

    def verdict(self, address: Address, port: int) -> Verdict:
        """Whether this address may be dialled at this port, and if not, why. Whether the port may is not asked here."""
        if self.own.has(address, port):
            return Verdict.DENY_OWN_ENDPOINT
        default = _default_verdict(address)
        if default is Verdict.DENY_METADATA:
            return default
        if any(address in network for network in self.deny):
            return Verdict.DENY_BY_OPERATOR
        if not any(address in network for network in self.allow):
            return default
        inner = embedded_v4(address)  # a translator's network is allowed for what may be dialled without it
        return Verdict.ALLOW if inner is None else self.verdict(inner, port)

    def verdict_of_name(self, host: str, port: int) -> Verdict:
        """What can be said of a name, in punycode, before it is looked up."""
        return Verdict.DENY_OWN_ENDPOINT if (host, port) in self.own.names else Verdict.ALLOW


def endpoint_of(text: str) -> Endpoint:
    """Host and port of `host:port` or `[address]:port`. Raises ValueError."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or not parts.port or parts.username is not None or parts.path:
        raise ValueError(f"{text!r} is no host:port")
    return parts.hostname.rstrip("."), parts.port


def embedded_v4(address: Address) -> IPv4Address | None:
    """The IPv4 address that a translator or a tunnel would dial in place of this one; None when there is none."""
    if isinstance(address, IPv4Address) or _default_verdict(address) is not Verdict.DENY_EMBEDDED_V4:
        return None
    packed = address.packed
    if address in _6TO4:
        return IPv4Address(packed[2:6])
    if address in _TEREDO:
        return IPv4Address(bytes(byte ^ 0xFF for byte in packed[12:]))
    return IPv4Address(packed[12:])


@lru_cache(maxsize=4096)
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
