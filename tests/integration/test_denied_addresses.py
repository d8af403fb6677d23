"""A worker and a courier with every way to a denied address: each ends as it should, and nothing is ever dialled there.

Two counters. An audit hook (PEP 578) sees each address that a socket of this process is connected to, also those that
this machine does not have. Listeners on loopback addresses, which the operator's list denies, count what reaches them.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from scrapejobs.adapters.bus import Bus
from scrapejobs.adapters.fetcher import Fetcher, FetchLimits
from scrapejobs.adapters.storage import ObjectStore
from scrapejobs.adapters.webhook_client import WebhookClient
from scrapejobs.domain.addresses import EgressPolicy, OwnEndpoints
from scrapejobs.domain.outcome import text_of
from scrapejobs.worker.runner import FetchRunner
from tests.integration.factories import Conn, make_job, rows, until
from tests.integration.fetching import redirect
from tests.integration.raw_target import RawTarget, raw_target, response
from tests.integration.test_worker import Worker, unlimited

pytestmark = pytest.mark.req("NFR-11")

DATA = Path(__file__).parent.parent / "data"
CASES = [json.loads(line) for line in (DATA / "ssrf.jsonl").read_text(encoding="utf-8").splitlines()]
AT_THE_DIAL = [case for case in CASES if case["expect"] == "blocked_at_dial"]
DENIED = [f"127.0.66.{n}" for n in range(1, 6)]
EDGE = ip_network("93.184.216.0/24")  # denied in the case files by the operator
HOOK = "https://hooks.example/x"


class _Dials:
    """Every address that a socket was connected to while `seen` is a list."""

    seen: list[tuple[str, int]] | None = None

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.connect" and self.seen is not None and isinstance(arguments[1], tuple):
            self.seen.append(arguments[1][:2])


_dials = _Dials()
sys.addaudithook(_dials)


@pytest.fixture
def dials() -> Iterator[list[tuple[str, int]]]:
    _dials.seen = seen = []
    yield seen
    _dials.seen = None


@dataclass
class Inside:
    """A server on every denied address, on one port, and how many connections each of them took."""

    port: int = 0
    taken: list[str] = field(default_factory=list)

    async def take(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.taken.append(writer.get_extra_info("sockname")[0])
        writer.write(response(b"secret"))
        writer.close()


@pytest.fixture
async def inside() -> AsyncIterator[Inside]:
    inside = Inside()
    async with contextlib.AsyncExitStack() as stack:
        for address in DENIED:
            server = await asyncio.start_server(inside.take, address, inside.port)
            stack.push_async_callback(server.wait_closed)
            stack.callback(server.close)
            inside.port = server.sockets[0].getsockname()[1]
        yield inside


@pytest.fixture
async def target() -> AsyncIterator[RawTarget]:
    async with raw_target() as running:
        yield running


class Names:
    """A stub resolver; a name with several answers gives the next one each time it is asked, then the last."""

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self.answers = answers

    async def __call__(self, host: str) -> list[Any]:
        answers = self.answers[host]
        return [ip_address(address) for address in (answers.pop(0) if len(answers) > 1 else answers[0])]


def policy(*, deny: bool = True, own: OwnEndpoints | None = None) -> EgressPolicy:
    denied = (*map(ip_network, DENIED), EDGE) if deny else ()
    return EgressPolicy(allow=(ip_network("127.0.0.0/8"),), deny=denied, own=own or OwnEndpoints())


def limits(egress: EgressPolicy) -> FetchLimits:
    return FetchLimits(policy=egress, dns_timeout_s=2.0, connect_timeout_s=2.0)


@dataclass
class Rig:
    """Carries jobs through a worker of their own."""

    conn: Conn
    database_url: str
    bus: Bus
    store: ObjectStore

    async def codes(
        self, urls: list[str], *, names: dict[str, list[list[str]]], policy: EgressPolicy
    ) -> dict[str, str | None]:
        """What became of a job for each URL."""
        for url in urls:
            await make_job(self.conn, place="ready", url=url, host="shop.example")
        runner = FetchRunner(Fetcher(limits(policy), lookup=Names(names)), self.store, unlimited)
        async with Worker(self.database_url, self.bus, runner, slots=100) as worker:
            await worker.claimer.tick()
            await worker.idle()
            await until(lambda: _all_told(self.conn, len(urls)))
        told = await rows(self.conn, "SELECT url, code FROM attempt JOIN job ON job.id = job_id")
        return {row["url"]: row["code"] for row in told}


@pytest.fixture
def rig(conn: Conn, database_url: str, bus: Bus, store: ObjectStore) -> Rig:
    return Rig(conn, database_url, bus, store)


def addresses(dials: list[tuple[str, int]], *, ports: set[int] | None = None) -> set[str]:
    return {address for address, port in dials if ports is None or port in ports}


async def _all_told(conn: Conn, n: int) -> bool:
    return bool((await rows(conn, "SELECT count(*) AS n FROM attempt"))[0]["n"] == n)


@pytest.mark.case("target-41")
async def test_every_name_of_the_case_file_that_leads_to_a_denied_address_is_never_dialled(
    rig: Rig, dials: list[tuple[str, int]]
) -> None:
    targets = [case for case in AT_THE_DIAL if case["context"] == "target" and case["via"] == "intake"]
    names = {case["url"].split("/")[2]: [case["dns"]] for case in targets}
    codes = await rig.codes([case["url"] for case in targets], names=names, policy=EgressPolicy(deny=(EDGE,)))
    assert codes == {case["url"]: "blocked_address" for case in targets}
    named = {address for case in AT_THE_DIAL for address in case["dns"]}
    assert named & addresses(dials, ports={80, 443}) == set()
    states = await rows(rig.conn, "SELECT DISTINCT final_state, error_detail FROM job")
    assert states == [{"final_state": "failed", "error_detail": text_of("blocked_address")}]


async def test_no_redirect_reaches_a_denied_address(
    rig: Rig, target: RawTarget, inside: Inside, dials: list[tuple[str, int]]
) -> None:
    places = {
        "literal": f"http://{DENIED[0]}:{inside.port}/",
        "no-scheme": f"//{DENIED[1]}:{inside.port}/",
        "mapped": f"http://[::ffff:{DENIED[2]}]:{inside.port}/",
        "compatible": f"http://[::{DENIED[2]}]:{inside.port}/",
        "nat64": f"http://[64:ff9b::{DENIED[2]}]:{inside.port}/",
        "name": f"http://denied.example:{inside.port}/",
        "mixed": f"http://mixed.example:{inside.port}/",
        "metadata": "http://169.254.169.254/latest/",
        "metadata-name": "http://metadata.google.internal/",
    }
    odd = {
        "short": f"http://127.16897:{inside.port}/",  # 127.0.66.1 as inet_aton reads it
        "decimal": f"http://2130723329:{inside.port}/",
        "octal": f"http://0177.0.0102.1:{inside.port}/",
        "hex": f"http://0x7f004201:{inside.port}/",
        "userinfo": f"http://a.example@{DENIED[0]}:{inside.port}/",
        "backslash": f"\\\\{DENIED[0]}:{inside.port}\\",
        "full-width": f"http://\uff11\uff12\uff17.0.66.1:{inside.port}/",
        "dot": f"http://{DENIED[0]}.:{inside.port}/",
    }  # fmt: skip
    for name, location in (places | odd).items():
        target.answers[f"/{name}"] = redirect(location.encode().decode("latin-1"))
    names = {"denied.example": [[DENIED[3]]], "mixed.example": [["127.0.0.1", DENIED[4]]]}
    codes = await rig.codes([target.url(f"/{name}") for name in places | odd], names=names, policy=policy())
    assert codes == {target.url(f"/{name}"): "blocked_address" for name in places} | {
        target.url(f"/{name}"): "redirect_invalid" for name in odd
    }
    assert inside.taken == []
    assert addresses(dials) & {*DENIED, "169.254.169.254"} == set()


@pytest.mark.case("target-41")
async def test_a_name_that_changes_its_mind_is_dialled_where_it_was_judged_or_not_at_all(
    rig: Rig, target: RawTarget, inside: Inside
) -> None:
    target.answers["/"] = response(b"x")
    target.answers["/go"] = redirect(f"http://rebinds-again.example:{target.port}/")
    names = {
        "rebinds.example": [["127.0.0.1"], [DENIED[0]]],  # asked once, the second answer is never heard
        "rebinds-again.example": [["127.0.0.1"], [DENIED[0]]],  # the redirect asks anew
        "turned.example": [[DENIED[0]], ["127.0.0.1"]],
    }
    urls = [f"http://{host}:{target.port}{path}" for host, path in zip(names, ("/", "/go", "/"), strict=True)]
    codes = await rig.codes(urls, names=names, policy=policy())
    assert codes == dict(zip(urls, (None, "blocked_address", "blocked_address"), strict=True))
    assert inside.taken == []


async def test_a_server_of_our_own_is_not_reached_where_loopback_is_allowed(
    rig: Rig, target: RawTarget, inside: Inside
) -> None:
    own = OwnEndpoints(addresses=frozenset({(ip_address("127.0.0.1"), inside.port)}))
    target.answers["/go"] = redirect(f"http://ours.example:{inside.port}/")
    urls = [f"http://{DENIED[0]}:{inside.port}/", f"http://ours.example:{inside.port}/", target.url("/go")]
    codes = await rig.codes(urls, names={"ours.example": [[DENIED[1]]]}, policy=policy(deny=False, own=own))
    assert set(codes.values()) == {"blocked_address"}
    assert inside.taken == []


async def test_without_the_denial_the_listeners_are_reached(
    rig: Rig, inside: Inside, dials: list[tuple[str, int]]
) -> None:
    """What the other tests count can be counted."""
    urls = [f"http://{DENIED[0]}:{inside.port}/", f"http://denied.example:{inside.port}/"]
    codes = await rig.codes(urls, names={"denied.example": [[DENIED[1]]]}, policy=policy(deny=False))
    assert set(codes.values()) == {None}
    assert sorted(inside.taken) == DENIED[:2]
    assert set(DENIED[:2]) <= addresses(dials, ports={inside.port})


@pytest.mark.req("FR-9")
@pytest.mark.case("ssrf-293")
async def test_no_delivery_reaches_a_denied_address(
    target: RawTarget, inside: Inside, dials: list[tuple[str, int]]
) -> None:
    target.answers["/go"] = redirect(f"http://{DENIED[0]}:{inside.port}/")
    names = {"denied.example": [[DENIED[1]]], "mixed.example": [["127.0.0.1", DENIED[2]]]}
    names |= {case["url"].split("/")[2]: [case["dns"]] for case in AT_THE_DIAL if case["context"] == "callback"}
    client = WebhookClient(policy(), dns_timeout_s=2.0, timeout_s=5.0, user_agent="test", lookup=Names(names))
    urls = [f"http://{host}:{inside.port}/" for host in (*names, DENIED[0], f"[::ffff:{DENIED[0]}]")]
    for url in (*urls, HOOK.replace("hooks.example", "hooks.example.com")):
        answer = await client.post(url, event_id="e", secrets=["whsec_" + "c2VjcmV0" * 4], body=b"{}")
        assert (answer.status, answer.error) == (None, "blocked_address"), url
    moved = await client.post(target.url("/go"), event_id="e", secrets=["whsec_" + "c2VjcmV0" * 4], body=b"{}")
    assert moved.status == 302
    assert inside.taken == []
    assert addresses(dials) & {*DENIED, "10.0.0.1"} == set()
