"""Where the service itself listens: no URL of a user may lead there, whatever the operator allows (NFR-11)."""

import socket
import threading
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from psycopg.conninfo import conninfo_to_dict

from scrapejobs.config import Config
from scrapejobs.domain.addresses import Address, EgressPolicy, Endpoint, OwnEndpoints, Verdict, endpoint_of
from scrapejobs.domain.ports import PortPolicy
from scrapejobs.domain.target import DEFAULT_PORTS

LOOK_AGAIN_S: Final = 60.0
FIRST_LOOK_S: Final = 5.0
_PORTS: Final = DEFAULT_PORTS | {"redis": 6379, "rediss": 6379}
_PROBE: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


def egress_policy(config: Config) -> EgressPolicy:
    """What users may reach by this process."""
    return EgressPolicy(
        allow=config.egress_allow,
        deny=config.egress_deny,
        ports=PortPolicy(allow=frozenset(config.ports_allow), deny=frozenset(config.ports_deny)),
        own=own_endpoints(config),
    )


def own_endpoints(config: Config) -> OwnEndpoints:
    """The servers that the settings name. Names are looked up before this returns, or soon after when that takes long,
    and again each minute.
    """
    private = {*_listening(config), *_servers(config)}
    shared = set(_shared(config))
    own = OwnEndpoints(names=frozenset(private | shared))
    if all(_literal(host) for host, _ in own.names):
        own.addresses = _addresses(private, shared)
        return own
    looked = threading.Event()

    def look() -> None:
        while True:
            own.addresses = _addresses(private, shared) or own.addresses
            looked.set()
            threading.Event().wait(LOOK_AGAIN_S)

    threading.Thread(target=look, name="own-endpoints", daemon=True).start()
    looked.wait(FIRST_LOOK_S)
    return own


def _listening(config: Config) -> Iterator[Endpoint]:
    yield from ((config.bind, port) for port in (config.port, config.metrics_port) if port)


def _servers(config: Config) -> Iterator[Endpoint]:
    database = conninfo_to_dict(config.database_url.get_secret_value())
    hosts = str(database.get("hostaddr") or database.get("host") or "localhost").split(",")
    ports = [int(port or 5432) for port in str(database.get("port") or "").split(",")]
    for i, host in enumerate(hosts):
        if host and not host.startswith(("/", "@")):
            yield host.lower().rstrip("."), ports[min(i, len(ports) - 1)]
    yield from _of_url(config.redis_url.get_secret_value())
    yield from map(endpoint_of, config.own_endpoints)
    if config.proxy is not None:
        yield config.proxy.host, config.proxy.port


def _shared(config: Config) -> Iterator[Endpoint]:
    """What may share its addresses with half the web: the public addresses of a name are not ours alone."""
    for url in (config.s3_endpoint_url, config.s3_public_endpoint_url, config.api_url):
        yield from _of_url(url or "")


def _of_url(url: str) -> Iterator[Endpoint]:
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme)
    if parts.hostname and port:
        yield parts.hostname.rstrip("."), port


def _addresses(private: Iterable[Endpoint], shared: Iterable[Endpoint]) -> frozenset[tuple[Address, int]]:
    exact = [(host, port) for host, port in shared if _literal(host)]
    inner = {(address, port) for address, port in _look_up(shared) if not _is_public(address, port)}
    return frozenset({*_look_up(private), *_look_up(exact), *inner})


def _look_up(endpoints: Iterable[Endpoint]) -> Iterator[tuple[Address, int]]:
    for host, port in endpoints:
        if literal := _literal(host):
            yield literal, port
            if literal.is_unspecified:
                yield from ((address, port) for address in _of_this_machine())
            continue
        try:
            infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            continue
        yield from ((ip_address(sockaddr[0]), port) for *_, sockaddr in infos)


def _of_this_machine() -> Iterator[Address]:
    """The addresses by which this machine speaks to others. Nothing is sent."""
    for family, elsewhere in _PROBE.items():
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((elsewhere, 9))
                yield ip_address(probe.getsockname()[0])
        except OSError:
            continue


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _is_public(address: Address, port: int) -> bool:
    return EgressPolicy().verdict(address, port) is Verdict.ALLOW
