"""The service's own servers are known from its settings, and no list of the operator's opens them."""

import os
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from scrapejobs.adapters.endpoints import egress_policy
from scrapejobs.config import Config
from scrapejobs.domain.addresses import Verdict
from scrapejobs.domain.target import UrlNotAllowed, parse_target
from tests.integration.world import make_client, post_job

pytestmark = pytest.mark.req("NFR-11")

LOOPBACK = ip_address("127.0.0.1")
EVERYTHING = (ip_network("0.0.0.0/0"), ip_network("::/0"))


def config(**changes: object) -> Config:
    return settings.CONFIG.model_copy(update={"egress_allow": EVERYTHING, **changes})  # type: ignore[no-any-return]


def port_of(name: str) -> int:
    port = urlsplit(os.environ[name]).port
    assert port
    return port


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL", "S3_ENDPOINT_URL"])
def test_the_servers_of_the_settings_are_denied_though_everything_is_allowed(name: str) -> None:
    policy = egress_policy(config())
    for host in ("127.0.0.1", "127.3.2.1", "0.0.0.0", "::1"):
        assert policy.verdict(ip_address(host), port_of(name)) is Verdict.DENY_OWN_ENDPOINT
    assert policy.verdict(LOOPBACK, 1) is Verdict.ALLOW


def test_gateway_metrics_and_what_the_operator_names_are_denied() -> None:
    policy = egress_policy(config(port=18123, metrics_port=18124, own_endpoints=("10.1.1.1:9000", "[fd00::7]:443")))
    for host, port in (("127.0.0.1", 18123), ("127.0.0.1", 18124), ("10.1.1.1", 9000), ("fd00::7", 443)):
        assert policy.verdict(ip_address(host), port) is Verdict.DENY_OWN_ENDPOINT
        assert policy.verdict(ip_address(host), port + 10) is Verdict.ALLOW


def test_what_listens_on_every_address_is_denied_on_those_of_this_machine() -> None:
    policy = egress_policy(config(bind="0.0.0.0", port=18123))
    assert policy.verdict(LOOPBACK, 18123) is Verdict.DENY_OWN_ENDPOINT
    assert policy.verdict(ip_address("::1"), 18123) is Verdict.DENY_OWN_ENDPOINT


def test_a_server_named_by_name_is_denied_by_its_name_and_by_its_address() -> None:
    policy = egress_policy(config(own_endpoints=("localhost:18125", "store.shop.example:9000")))
    assert policy.verdict(LOOPBACK, 18125) is Verdict.DENY_OWN_ENDPOINT
    with pytest.raises(UrlNotAllowed, match="deny-own-endpoint"):
        parse_target("http://Store.Shop.Example.:9000/x", policy=policy)


def test_a_public_object_store_and_api_are_denied_as_they_are_named() -> None:
    policy = egress_policy(
        config(
            s3_endpoint_url="http://8.8.8.8:9000",
            s3_public_endpoint_url="https://s3.a.example",
            api_url="http://b.example",
        )
    )
    for url in ("http://8.8.8.8:9000/", "https://s3.a.example/bucket", "http://b.example/jobs"):
        with pytest.raises(UrlNotAllowed, match="deny-own-endpoint"):
            parse_target(url, policy=policy)


@pytest.mark.django_db
def test_a_job_to_a_server_of_ours_is_refused_at_intake() -> None:
    client = make_client("a")
    for name in ("REDIS_URL", "S3_ENDPOINT_URL"):
        reply = post_job(client.key, {"url": f"http://127.0.0.1:{port_of(name)}/"})
        assert (reply.status, reply.json["type"]) == (400, "/problems/url-not-allowed")
        assert "deny-own-endpoint" in reply.json["detail"]
