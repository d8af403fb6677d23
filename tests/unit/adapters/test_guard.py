"""The guard: what a name resolves to is judged whole, and every dial again."""

import asyncio
import json
import socket
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from scrapejobs.adapters.guard import (
    BlockedAddress,
    GuardedResolver,
    Lookup,
    LookupFailed,
    NameNotFound,
    dialling,
    guarded_socket_factory,
)
from scrapejobs.domain.addresses import EgressPolicy, Verdict

CASES = Path(__file__).parents[2] / "data" / "ssrf.jsonl"
EXTRA_DENY = ip_network("93.184.216.0/24")


def cases() -> list[Any]:
    read = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    dialled = [case for case in read if "dns" in case and case["expect"] != "reject_at_intake"]
    return [pytest.param(case, id=case["id"], marks=pytest.mark.case(case["id"])) for case in dialled]


def answering(*addresses: str) -> Lookup:
    async def lookup(_: str) -> list[Any]:
        return [ip_address(address) for address in addresses]

    return lookup


def resolver(lookup: Lookup, *, policy: EgressPolicy | None = None) -> GuardedResolver:
    return GuardedResolver(policy or EgressPolicy(), lookup=lookup, timeout_s=0.02)


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize("case", cases())
async def test_a_name_is_blocked_at_the_dial_exactly_where_the_case_says(case: dict[str, Any]) -> None:
    deny = (EXTRA_DENY,) if case.get("needs") == "extra_deny" else ()
    guarded = resolver(answering(*case["dns"]), policy=EgressPolicy(deny=deny))
    if case["expect"] == "blocked_at_dial":
        with dialling() as dial, pytest.raises(BlockedAddress):
            await guarded.resolve("name.example.com", 80)
        assert dial.blocked not in {None, Verdict.ALLOW}
    else:
        found = await guarded.resolve("name.example.com", 80)
        assert [each["host"] for each in found] == case["dns"]


@pytest.mark.req("NFR-11")
@pytest.mark.case("target-41")
async def test_a_name_is_looked_up_once_for_each_dial() -> None:
    asked: list[str] = []

    async def turning_private(host: str) -> list[Any]:
        asked.append(host)
        return [ip_address("93.184.216.34" if len(asked) == 1 else "10.0.0.1")]

    found = await resolver(turning_private).resolve("rebind.example.com", 80)
    assert [each["host"] for each in found] == ["93.184.216.34"]
    assert asked == ["rebind.example.com"]


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    ("address", "verdict"),
    [("127.0.0.1", Verdict.DENY_LOOPBACK), ("::ffff:10.0.0.1", Verdict.DENY_EMBEDDED_V4)],
)
def test_the_last_gate_opens_no_socket_to_a_denied_address(address: str, verdict: Verdict) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    info = (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, 80))
    with dialling() as dial, pytest.raises(BlockedAddress):
        guarded_socket_factory(EgressPolicy())(info)
    assert dial.blocked is verdict


@pytest.mark.req("FR-7")
def test_the_last_gate_opens_a_socket_to_an_allowed_address_and_notes_its_family() -> None:
    info = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("8.8.8.8", 80))
    with dialling() as dial, guarded_socket_factory(EgressPolicy())(info) as opened:
        assert opened.family == socket.AF_INET
    assert (dial.family, dial.phase, dial.blocked) == ("ipv4", "connect", None)


@pytest.mark.case("target-42")
async def test_a_look_up_that_hangs_fails_at_its_own_limit() -> None:
    async def hanging(_: str) -> list[Any]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(LookupFailed):
        await resolver(hanging).resolve("slow.example.com", 80)


@pytest.mark.case("target-42")
async def test_a_name_without_an_address_is_not_found() -> None:
    with pytest.raises(NameNotFound):
        await resolver(answering()).resolve("empty.example.com", 80)


@pytest.mark.req("NFR-11")
async def test_notes_of_two_attempts_at_once_are_kept_apart() -> None:
    async def blocked_after(barrier: asyncio.Barrier, address: str) -> Verdict | None:
        with dialling() as dial:
            await barrier.wait()
            with pytest.raises(BlockedAddress):
                await resolver(answering(address)).resolve("x.example.com", 80)
            await barrier.wait()
            return dial.blocked

    barrier = asyncio.Barrier(2)
    async with asyncio.timeout(5):
        verdicts = await asyncio.gather(blocked_after(barrier, "10.0.0.1"), blocked_after(barrier, "127.0.0.1"))
    assert verdicts == [Verdict.DENY_PRIVATE, Verdict.DENY_LOOPBACK]
