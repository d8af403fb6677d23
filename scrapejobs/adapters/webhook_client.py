"""Posts finish events to callback URLs: through the guard, without following redirects, reading next to nothing (FR-9).

What a receiver answers is not kept beyond its status: it may come from inside a network that the tenant cannot see.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
from yarl import URL

from scrapejobs.adapters import guard
from scrapejobs.adapters.fetch_errors import WIRE_ERRORS, failure_of
from scrapejobs.adapters.guard import Lookup
from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.outcome import is_success
from scrapejobs.domain.proxy import EgressProxy
from scrapejobs.domain.retry_after import parse_retry_after
from scrapejobs.domain.target import InvalidUrl, UrlNotAllowed, parse_target
from scrapejobs.domain.webhook import sign

MOST_READ_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """How a receiver took an event. `status` None: no answer, and `error` says why (a code of `domain.outcome`)."""

    status: int | None
    error: str | None = None
    retry_after_s: float | None = None

    @property
    def is_success(self) -> bool:
        return self.status is not None and is_success(self.status)


class WebhookClient:
    """Signs and posts, one connection for each."""

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        dns_timeout_s: float,
        timeout_s: float,
        user_agent: str,
        lookup: Lookup | None = None,
        proxy: EgressProxy | None = None,
    ) -> None:
        self._policy = policy
        self._dns_timeout_s = dns_timeout_s
        self._timeout_s = timeout_s
        self._user_agent = user_agent
        self._lookup = lookup
        self._proxy = proxy
        self._tls = guard.tls_context()

    async def post(self, url: str, *, event_id: str, secrets: Sequence[str], body: bytes) -> Answer:
        """Posts once. Every end that the outside can bring about is a value."""
        try:
            target = parse_target(url, policy=self._policy)
        except (InvalidUrl, UrlNotAllowed):
            return Answer(None, "blocked_address")
        timestamp = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": self._user_agent,
            "webhook-id": event_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(secrets=secrets, event_id=event_id, timestamp=timestamp, body=body),
        }
        with guard.dialling() as dial:
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._send(target.url, headers, body)
            except WIRE_ERRORS as error:
                return Answer(None, failure_of(error, dial).code)

    async def _send(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        connector = guard.guarded_connector(
            self._policy,
            ssl_context=self._tls,
            dns_timeout_s=self._dns_timeout_s,
            lookup=self._lookup,
            proxy=self._proxy,
        )
        timeout = aiohttp.ClientTimeout(total=None)
        async with (
            aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), timeout=timeout, trust_env=False
            ) as session,
            session.post(URL(url, encoded=True), data=body, headers=headers, allow_redirects=False) as response,
        ):
            await response.content.read(MOST_READ_BYTES)
            asked = response.headers.get("Retry-After")
            wait_s = parse_retry_after(asked, now=datetime.now(UTC)) if asked else None
            return Answer(response.status, None, wait_s)
