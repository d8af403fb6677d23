"""Whose address a request counts for."""

from ipaddress import ip_network

import pytest

from scrapejobs.gateway.limits import address_of

OURS = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.req("FR-12")
@pytest.mark.case("in-148")
@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("203.0.113.9", None, "203.0.113.9"),
        ("203.0.113.9", "198.51.100.7", "203.0.113.9"),  # who is no proxy of ours may write what it likes
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "1.2.3.4, 198.51.100.7", "198.51.100.7"),  # the first one may be a lie
        ("10.0.0.1", "1.2.3.4, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7, nonsense", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("fd00::1", "2001:db8::7", "2001:db8::7"),
    ],
)
def test_a_client_is_the_last_hop_that_is_no_proxy_of_ours(peer: str, forwarded: str | None, address: str) -> None:
    meta = {"REMOTE_ADDR": peer} | ({"HTTP_X_FORWARDED_FOR": forwarded} if forwarded is not None else {})
    assert address_of(meta, trusted=OURS) == address


@pytest.mark.req("FR-12")
def test_without_proxies_of_ours_the_connection_counts() -> None:
    assert address_of({"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "1.2.3.4"}, trusted=[]) == "10.0.0.1"
