"""Which rows speak of a host, and which of them wins."""

from typing import Any

import pytest

from scrapejobs.domain.picking import HostLimits, TenantShare
from scrapejobs.scheduler.limits import Limits

DEFAULT = HostLimits(1.0, 2.0, 3)


def row(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "rate": None, "burst": None, "concurrency": None, "paused_for_s": None, **fields}


def limits(*hosts: dict[str, Any], tenants: tuple[dict[str, Any], ...] = ()) -> Limits:
    return Limits(DEFAULT).with_hosts(hosts, now=100.0).with_tenants(tenants)


@pytest.mark.req("FR-11")
def test_a_host_without_a_row_has_the_limits_of_the_settings() -> None:
    assert limits().of("a.shop.example") == DEFAULT


@pytest.mark.req("FR-11")
def test_each_field_comes_from_the_narrowest_row_that_gives_it() -> None:
    read = limits(
        row("*.example", rate=9.0, burst=9.0, concurrency=9),
        row("*.shop.example", rate=8.0, burst=8.0),
        row("a.shop.example", rate=7.0),
    )
    assert read.of("a.shop.example") == HostLimits(7.0, 8.0, 9)
    assert read.of("b.shop.example") == HostLimits(8.0, 8.0, 9)
    assert read.of("shop.example") == HostLimits(9.0, 9.0, 9)  # `*.shop.example` is below it
    assert read.of("example") == DEFAULT
    assert read.of("myshop.example") == HostLimits(9.0, 9.0, 9)


@pytest.mark.req("FR-11")
def test_a_pause_is_the_longest_of_the_rows_that_speak_of_the_host() -> None:
    read = limits(
        row("*.example", paused_for_s=50.0),
        row("a.example", paused_for_s=10.0),
        row("b.test", paused_for_s=float("inf")),
        row("c.test", paused_for_s=-5.0),
    )
    assert read.closed_until("a.example") == 150.0
    assert read.closed_until("b.test") == float("inf")
    assert read.closed_until("c.test") == 0.0
    assert read.closed_until("d.test") == 0.0


@pytest.mark.req("FR-12")
def test_a_tenant_without_a_row_has_weight_one_and_no_cap() -> None:
    read = limits(tenants=({"id": 1, "weight": 2.0, "max_running": 5},))
    assert read.share(1) == TenantShare(2.0, 5)
    assert read.share(2) == TenantShare()


@pytest.mark.req("FR-11")
def test_one_kind_of_row_is_read_again_without_the_other() -> None:
    read = limits(row("a.test", rate=5.0), tenants=({"id": 1, "weight": 2.0, "max_running": None},))
    again = read.with_hosts([row("b.test", rate=6.0)], now=0.0)
    assert again.shares == read.shares
    assert again.of("a.test") == DEFAULT
    assert again.with_tenants([]).rows == again.rows
