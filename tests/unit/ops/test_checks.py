import pytest

from scrapejobs.config import Config
from scrapejobs.ops.checks import faults


def ids(**changes: str) -> list[str]:
    return [str(fault.id) for fault in faults(_config(**changes))]


def _config(**changes: str) -> Config:
    required = {
        "DATABASE_URL": "postgresql://db/jobs",
        "REDIS_URL": "redis://cache/0",
        "S3_ENDPOINT_URL": "http://store",
        "S3_ACCESS_KEY_ID": "id",
        "S3_SECRET_ACCESS_KEY": "secret",
        "secret_key": "k" * 32,
        "sealing_keys": "s" * 32,
    }
    return Config(**required | changes)  # type: ignore[arg-type]


@pytest.mark.req("NFR-11")
def test_the_defaults_are_sound():
    assert ids() == []


@pytest.mark.req("NFR-12")
def test_a_short_secret_key_is_refused():
    assert ids(secret_key="k" * 31) == ["scrapejobs.E001"]


@pytest.mark.req("NFR-12")
def test_sealing_keys_that_are_missing_or_short_are_refused():
    assert ids(sealing_keys="") == ["scrapejobs.E003"]
    assert ids(sealing_keys=f"{'n' * 32},{'o' * 31}") == ["scrapejobs.E004"]


@pytest.mark.req("NFR-12")
def test_the_ring_is_read_from_commas_and_from_lines_of_a_file():
    assert _config(sealing_keys="a,b").sealing_texts == _config(sealing_keys="a\nb\n").sealing_texts == ("a", "b")


@pytest.mark.req("NFR-12")
def test_loose_settings_are_warned_of_where_the_network_can_reach_the_gateway():
    assert ids(bind="0.0.0.0", callback_allow_http="true") == ["scrapejobs.W002", "scrapejobs.W003"]
    assert ids(bind="127.0.0.1", callback_allow_http="true") == []
    assert ids(allowed_hosts="*") == ["scrapejobs.W001"]
