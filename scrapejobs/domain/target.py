"""A target's URL, read strictly: what is not plainly right is refused, never repaired (NFR-11).

Two parsers that read one URL differently are the way past every filter, so this grammar is narrower than
RFC 3986: no userinfo, no backslash, no white space, no percent-encoding or legacy number in a host.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, urlencode

import idna

from scrapejobs.domain.addresses import Address, EgressPolicy, Verdict

MAX_URL_CHARS = 4096
MAX_HOST_CHARS = 253
MAX_PORT = 65_535
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
WEB_SCHEMES = frozenset({"http", "https"})

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"//([^/?#]+)([^#]*)(?:#.*)?", re.DOTALL)
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::([0-9]+))?")
_NAMED = re.compile(r"([^:\[\]]+)(?::([0-9]+))?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # a last label that getaddrinfo reads as an IPv4 number

# White space, controls, lone surrogates and invisible format characters; the two joiners are letters' own.
_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")

# Names that mean this machine or its network: IANA's special-use domain names (RFC 6761, 6762, 7686, 8375, 8880, 9462,
# 9476, 9665), ICANN's .internal, what RFC 6762 (appendix G) finds in private use, and Google's metadata server. The
# reserved .test and .example resolve nowhere and need no refusal.
_SPECIAL_NAMES = frozenset(
    {"localhost", "localhost4", "localhost6", "localdomain", "localdomain4", "localdomain6", "local", "internal"}
    | {"onion", "alt", "invalid", "home.arpa", "resolver.arpa", "service.arpa", "ipv4only.arpa"}
    | {"corp", "home", "intranet", "lan", "private", "metadata.goog"}
)


class InvalidUrl(ValueError):  # noqa: N818 - named as the API problem is
    """The text is not a URL that this service reads (API problem `invalid-url`). Never quotes the URL."""


class UrlNotAllowed(ValueError):  # noqa: N818 - named as the API problem is
    """A well-formed URL that may not be fetched (API problem `url-not-allowed`); `reason` says what."""

    def __init__(self, reason: Literal["scheme", "port", "address"], text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be asked for. `url` goes on the wire.

    `host` is lower case, in punycode, without trailing dot and without brackets.
    """

    url: str
    scheme: str
    host: str
    port: int
    is_literal: bool

    @property
    def host_key(self) -> str:
        """What the host's limits, breaker and rates are kept under, whatever scheme and port."""
        return self.host

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: no header of a job crosses from one origin to another."""
        return self.scheme, self.host, self.port


def parse_target(
    url: str,
    *,
    policy: EgressPolicy,
    schemes: frozenset[str] = WEB_SCHEMES,
) -> Target:
    """Read a URL and judge all that needs no look-up: scheme, name, port and literal addresses. What is read reads the
    same again.

    Raises `InvalidUrl` when it is not a URL as read here, `UrlNotAllowed` when it may not be fetched.
    """
    _check_characters(url)
    scheme, rest = _split_scheme(url, schemes=schemes)
    parts = _AUTHORITY.fullmatch(rest)
    if parts is None:
        raise InvalidUrl("the URL names no host")
    authority, path = parts.groups()
    if "@" in authority:
        raise InvalidUrl("the URL carries a user name or password: use an Authorization header")
    host, port_text, literal = _split_host(authority)
    port = _port(port_text, scheme=scheme)
    if literal is None:
        _check_name(host)
    _check_allowed(host if literal is None else literal, port, policy=policy)
    netloc = f"[{host}]" if ":" in host else host
    if port != DEFAULT_PORTS[scheme]:
        netloc = f"{netloc}:{port}"
    wire = f"{scheme}://{netloc}{_wire_path(path)}"
    if len(wire) > MAX_URL_CHARS:  # longer by its percent-encoding
        raise InvalidUrl(f"the URL is longer than {MAX_URL_CHARS} characters")
    return Target(wire, scheme, host, port, literal is not None)


def with_query(url: str, query: Mapping[str, str]) -> str:
    """The URL with these pairs added to its query, percent-encoded; what was there stays as it was."""
    if not query:
        return url
    base = url.partition("#")[0]
    separator = "&" if "?" in base else "?"
    return f"{base}{separator}{urlencode(query, quote_via=quote, safe='')}"


def names_over(host: str) -> Iterator[str]:
    """The names under which rows may speak of a host, narrowest first: itself, then `*.` and each of its parents."""
    yield host
    labels = host.split(".")
    for i in range(1, len(labels)):
        yield "*." + ".".join(labels[i:])


def _check_characters(url: str) -> None:
    if len(url) > MAX_URL_CHARS:
        raise InvalidUrl(f"the URL is longer than {MAX_URL_CHARS} characters")
    for character in url:
        if unicodedata.category(character) in _FORBIDDEN_CATEGORIES and character not in _JOINERS:
            raise InvalidUrl("the URL holds white space or a control character")
    if "\\" in url:
        raise InvalidUrl("the URL holds a backslash")


def _split_scheme(url: str, *, schemes: frozenset[str]) -> tuple[str, str]:
    match = _SCHEME.fullmatch(url)
    if match is None:
        raise InvalidUrl("the URL is not absolute")
    scheme = match[1].lower()
    if scheme not in schemes:
        raise UrlNotAllowed("scheme", f"only {' and '.join(sorted(schemes))} may be fetched")
    return scheme, match[2]


def _split_host(authority: str) -> tuple[str, str | None, Address | None]:
    """Host as it goes on the wire, port text, and the address when the host is one."""
    if match := _BRACKETED.fullmatch(authority):
        try:
            address = ipaddress.IPv6Address(match[1])
        except ValueError:
            raise InvalidUrl("the IPv6 address is not valid") from None
        return address.compressed, match[2], address
    match = _NAMED.fullmatch(authority)
    if match is None:
        raise InvalidUrl("the host or the port is not valid")
    host = _ascii_host(match[1])
    return host, match[2], _ipv4_literal(host, written=match[1])


def _ascii_host(written: str) -> str:
    labels = [_ascii_label(label) for label in written.removesuffix(".").split(".")]
    host = ".".join(labels)
    if "_" in host and not written.isascii():  # other parsers then fall back to IDNA 2003, which maps
        raise InvalidUrl("an internationalised name holds no underscore")
    if len(host) > MAX_HOST_CHARS:
        raise InvalidUrl(f"the host is longer than {MAX_HOST_CHARS} characters")
    return host


def _ascii_label(label: str) -> str:
    """One label in IDNA2008 form. No mapping (UTS 46): what maps to ASCII is a disguise."""
    try:
        if not label.isascii():
            return idna.alabel(label).decode("ascii")
        label = label.lower()
        if label.startswith("xn--") and idna.alabel(idna.ulabel(label)) != label.encode("ascii"):
            raise InvalidUrl("the host is not valid")
    except (idna.IDNAError, UnicodeError):
        raise InvalidUrl("the host is not a valid internationalised name") from None
    if not _LABEL.fullmatch(label):
        raise InvalidUrl("the host is not valid")
    return label


def _ipv4_literal(host: str, *, written: str) -> ipaddress.IPv4Address | None:
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return None
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError:
        raise InvalidUrl("the host looks like an address but is no dotted quad") from None
    if written.endswith("."):
        raise InvalidUrl("an address takes no trailing dot")
    return address


def _port(text: str | None, *, scheme: str) -> int:
    if text is None:
        return DEFAULT_PORTS[scheme]
    if not _PORT.fullmatch(text) or int(text) > MAX_PORT:
        raise InvalidUrl("the port is not valid")
    return int(text)


def _check_name(host: str) -> None:
    if "." not in host:
        raise UrlNotAllowed("address", "a name without a dot belongs to a local network")
    if not _SPECIAL_NAMES.isdisjoint(name.removeprefix("*.") for name in names_over(host)):
        raise UrlNotAllowed("address", "the name belongs to a local network")


def _check_allowed(host: str | Address, port: int, *, policy: EgressPolicy) -> None:
    if not policy.ports.allows(port):
        raise UrlNotAllowed("port", f"port {port} may not be fetched")
    verdict = policy.verdict_of_name(host, port) if isinstance(host, str) else policy.verdict(host, port)
    if verdict is not Verdict.ALLOW:
        raise UrlNotAllowed("address", f"the address may not be fetched ({verdict})")


def _wire_path(path: str) -> str:
    """Path and query as given, but what is not ASCII percent-encoded (RFC 3987, section 3.1)."""
    path = path if path.startswith("/") else f"/{path}"
    return path if path.isascii() else "".join(c if c.isascii() else quote(c) for c in path)
