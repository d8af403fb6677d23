"""The proxy through which everything that users name is reached, when the operator has one (ADR-0028)."""

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

DEFAULT_PORT: Final = 3128


@dataclass(frozen=True, slots=True)
class EgressProxy:
    """Where the proxy is, and what it wants to see."""

    host: str
    port: int
    authorization: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str) -> "EgressProxy":
        """Of `http://[user:password@]host[:port]`. Raises ValueError, which never quotes the URL."""
        try:
            parts = urlsplit(url)
            port = parts.port or DEFAULT_PORT
        except ValueError:
            raise ValueError("no proxy URL") from None
        if parts.scheme != "http" or not parts.hostname or parts.path not in {"", "/"} or parts.query or parts.fragment:
            raise ValueError("the proxy has to be http://[user:password@]host[:port]")
        authorization = None
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = f"Basic {b64encode(pair.encode()).decode()}"
        return cls(parts.hostname, port, authorization)

    def request(self, address: str, port: int) -> bytes:
        """The CONNECT for an address (RFC 9110, section 9.3.6)."""
        authority = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if self.authorization is not None:
            lines.append(f"Proxy-Authorization: {self.authorization}")
        return "\r\n".join([*lines, "", ""]).encode("ascii")
