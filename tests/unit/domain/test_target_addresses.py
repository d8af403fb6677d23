"""Verdicts on addresses: the table, its edges, and the operator's lists."""

from ipaddress import ip_address, ip_network

import pytest

from scrapejobs.domain.addresses import EgressPolicy, Verdict

METADATA = ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"]


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    ("address", "verdict"),
    [
        *((address, Verdict.DENY_METADATA) for address in METADATA),
        ("127.0.0.1", Verdict.DENY_LOOPBACK),
        ("0.0.0.0", Verdict.DENY_LOOPBACK),
        ("::1", Verdict.DENY_LOOPBACK),
        ("::", Verdict.DENY_LOOPBACK),
        ("10.255.255.255", Verdict.DENY_PRIVATE),
        ("172.31.255.255", Verdict.DENY_PRIVATE),
        ("100.64.0.1", Verdict.DENY_PRIVATE),
        ("fdff::1", Verdict.DENY_PRIVATE),
        ("169.254.0.1", Verdict.DENY_LINK_LOCAL),
        ("fe80::1%eth0", Verdict.DENY_LINK_LOCAL),
        ("239.255.255.255", Verdict.DENY_MULTICAST),
        ("ff0e::1", Verdict.DENY_MULTICAST),
        ("::ffff:8.8.8.8", Verdict.DENY_EMBEDDED_V4),
        ("64:ff9b::8.8.8.8", Verdict.DENY_EMBEDDED_V4),
        ("2002:808:808::1", Verdict.DENY_EMBEDDED_V4),
        ("2606:4700::200:5efe:7f00:1", Verdict.DENY_EMBEDDED_V4),
        ("2001:20::1", Verdict.DENY_SPECIAL),
        ("255.255.255.255", Verdict.DENY_SPECIAL),
        ("4000::1", Verdict.DENY_UNALLOCATED),
        ("8.8.8.8", Verdict.ALLOW),
        ("172.32.0.0", Verdict.ALLOW),
        ("100.128.0.0", Verdict.ALLOW),
        ("223.255.255.255", Verdict.ALLOW),
        ("2001:4860:4860::8888", Verdict.ALLOW),
        ("2606:4700:4700::1111", Verdict.ALLOW),
    ],
)
def test_an_address_has_the_verdict_of_its_network(address: str, verdict: Verdict) -> None:
    assert EgressPolicy().verdict(ip_address(address)) is verdict


@pytest.mark.req("NFR-11")
@pytest.mark.case("ssrf-275")
def test_the_operators_denial_wins_over_all() -> None:
    edge = ip_network("93.184.216.0/24")
    policy = EgressPolicy(allow=(edge, ip_network("127.0.0.0/8")), deny=(edge, ip_network("127.0.0.2/32")))
    assert policy.verdict(ip_address("93.184.216.34")) is Verdict.DENY_BY_OPERATOR
    assert policy.verdict(ip_address("127.0.0.2")) is Verdict.DENY_BY_OPERATOR
    assert policy.verdict(ip_address("127.0.0.1")) is Verdict.ALLOW
