"""Verdicts on addresses: the table, its edges, and the operator's lists."""

from ipaddress import ip_address, ip_network

import pytest

from scrapejobs.domain.addresses import EgressPolicy, OwnEndpoints, Verdict, embedded_v4, endpoint_of

METADATA = ["169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23", "169.254.42.42", "100.100.100.200"]
METADATA += ["168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe"]
METADATA += ["fd00:42::42", "fd00:a9fe:a9fe::1", "fe80::a9fe:a9fe"]
# iana-ipv4-special-registry and iana-ipv6-special-registry, with the multicast blocks and what was given back
IANA_V4 = """0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
    192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/31 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
    192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
    240.0.0.0/4 255.255.255.255/32 224.0.0.0/4"""
IANA_V6 = """::1/128 ::/128 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32
    2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28
    2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8
    3ffe::/16 ::/3 4000::/2 8000::/1"""
INNER = {"8.8.8.8": Verdict.ALLOW, "8.8.4.4": Verdict.DENY_OWN_ENDPOINT, "93.184.216.34": Verdict.DENY_BY_OPERATOR}
INNER |= {
    "10.0.0.1": Verdict.DENY_PRIVATE,
    "169.254.169.254": Verdict.DENY_METADATA,
    "127.0.0.1": Verdict.DENY_LOOPBACK,
}
EVERYTHING = (ip_network("0.0.0.0/0"), ip_network("::/0"))


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
    assert EgressPolicy().verdict(ip_address(address), 80) is verdict


@pytest.mark.req("NFR-11")
@pytest.mark.case("ssrf-275")
def test_the_operators_denial_wins_over_all() -> None:
    edge = ip_network("93.184.216.0/24")
    policy = EgressPolicy(allow=(edge, ip_network("127.0.0.0/8")), deny=(edge, ip_network("127.0.0.2/32")))
    assert policy.verdict(ip_address("93.184.216.34"), 80) is Verdict.DENY_BY_OPERATOR
    assert policy.verdict(ip_address("127.0.0.2"), 80) is Verdict.DENY_BY_OPERATOR
    assert policy.verdict(ip_address("127.0.0.1"), 80) is Verdict.ALLOW


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(("version", "networks"), [(4, IANA_V4), (6, IANA_V6)])
def test_every_network_of_ianas_registries_is_denied_from_its_first_address_to_its_last(
    version: int, networks: str
) -> None:
    for text in networks.split():
        network = ip_network(text)
        assert network.version == version
        for address in (network[0], network[-1]):
            assert EgressPolicy().verdict(address, 80) is not Verdict.ALLOW, address


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(("address", "verdict"), [(address, Verdict.DENY_METADATA) for address in METADATA])
def test_no_list_of_the_operators_opens_a_metadata_service(address: str, verdict: Verdict) -> None:
    policy = EgressPolicy(allow=(*EVERYTHING, ip_network(address)))
    assert policy.verdict(ip_address(address), 80) is verdict


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize("address", ["10.0.0.1", "fd12::1", "203.0.113.7"])
def test_no_list_of_the_operators_opens_a_server_of_our_own(address: str) -> None:
    own = OwnEndpoints(addresses=frozenset({(ip_address(address), 9000)}))
    policy = EgressPolicy(allow=EVERYTHING, own=own)
    assert policy.verdict(ip_address(address), 9000) is Verdict.DENY_OWN_ENDPOINT
    assert policy.verdict(ip_address(address), 9001) is Verdict.ALLOW


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize("listening", ["127.0.0.1", "127.0.0.9", "0.0.0.0", "::1", "::"])
@pytest.mark.parametrize("dialled", ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::"])
def test_a_server_on_this_machine_is_ours_by_every_name_of_its_loopback(listening: str, dialled: str) -> None:
    own = OwnEndpoints(addresses=frozenset({(ip_address(listening), 5432)}))
    policy = EgressPolicy(allow=EVERYTHING, own=own)
    assert policy.verdict(ip_address(dialled), 5432) is Verdict.DENY_OWN_ENDPOINT
    assert policy.verdict(ip_address(dialled), 5433) is Verdict.ALLOW


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize("form", ["64:ff9b::{}", "::ffff:{}", "::ffff:0:{}", "64:ff9b:1::{}", "2606:4700::5efe:{}"])
def test_a_translators_network_is_allowed_for_what_may_be_dialled_without_it(form: str) -> None:
    own = OwnEndpoints(addresses=frozenset({(ip_address("8.8.4.4"), 80)}))
    policy = EgressPolicy(allow=(ip_network("::/0"),), deny=(ip_network("93.184.216.0/24"),), own=own)
    told = {v4: policy.verdict(ip_address(form.format(v4)), 80) for v4 in INNER}
    assert told == INNER


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    ("address", "inner"),
    [
        ("2002:a9fe:a9fe::1", "169.254.169.254"),  # RFC 3056
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "192.0.2.45"),  # the example of RFC 4380's wording: bits inverted
        ("64:ff9b::192.0.2.33", "192.0.2.33"),  # RFC 6052, 2.4
        ("2606:4700::1", None),
        ("8.8.8.8", None),
    ],
)
def test_the_ipv4_address_inside_is_found(address: str, inner: str | None) -> None:
    assert embedded_v4(ip_address(address)) == (ip_address(inner) if inner else None)


@pytest.mark.req("NFR-11")
def test_an_endpoint_is_a_host_and_a_port() -> None:
    assert endpoint_of("Db.Example.:5432") == ("db.example", 5432)
    assert endpoint_of("[fd00::1]:80") == ("fd00::1", 80)
    for text in ("", "a", "a:", ":80", "a:0", "a:x", "a:70000", "u@a:80", "a:80/x", "[::1"):
        with pytest.raises(ValueError, match=r".+"):
            endpoint_of(text)
