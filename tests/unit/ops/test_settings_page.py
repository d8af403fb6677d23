from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from scrapejobs.config import Config, environment_name
from scrapejobs.ops.settings_page import in_force, markdown, shown
from scrapejobs.ops.settings_text import SECTIONS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "settings.md"


def config(**changes: str) -> Config:
    required = {
        "DATABASE_URL": "postgresql://u:p-hush@db.example:5432/jobs?password=q-hush",
        "REDIS_URL": "redis://:r-hush@cache.example:6379/0",
        "S3_ENDPOINT_URL": "http://store.example",
        "S3_ACCESS_KEY_ID": "i-hush",
        "S3_SECRET_ACCESS_KEY": "s-hush",
        "secret_key": "k-hush",
    }
    return Config(**required | changes)  # type: ignore[arg-type]


@pytest.mark.req("FR-13")
def test_every_setting_has_its_meaning_on_the_page_and_no_other_is_there():
    told = [field for fields in SECTIONS.values() for field in fields]
    assert sorted(told) == sorted(Config.model_fields)


@pytest.mark.req("FR-13")
def test_the_page_in_the_docs_is_the_one_that_the_command_writes():
    assert PAGE.read_text(encoding="utf-8") == markdown()


@pytest.mark.req("NFR-12")
def test_no_secret_is_in_the_settings_that_are_shown():
    text = str(in_force(config(), {}))
    assert "hush" not in text
    assert "db.example:5432/jobs" in text


@pytest.mark.req("NFR-12")
@pytest.mark.parametrize(
    ("url", "visible"),
    [
        ("postgresql://u:pw@h:5432/n", "postgresql://u:***@h:5432/n"),
        ("postgresql://u@h/n", "postgresql://u@h/n"),
        ("redis://:pw@h:1/0", "redis://:***@h:1/0"),
        ("postgresql://u:p@ss@h/n?password=x", "postgresql://u:***@h/n"),
        ("host=h password=pw", "***"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, visible: str):
    assert shown("database_url", SecretStr(url)) == visible


@pytest.mark.req("FR-13")
def test_where_a_value_comes_from_is_told():
    rows = {row["setting"]: row for row in in_force(config(), {"PORT": "8000"})}
    assert rows["PORT"]["source"] == "environment"
    assert rows[environment_name("lease_s")]["source"] in {"default", "stack.env"}


@pytest.mark.req("NFR-6")
def test_the_user_agent_says_whom_to_turn_to():
    assert config().agent == "scrapejobs/0.1"
    assert config(contact="https://a.example/bot").agent == "scrapejobs/0.1 (+https://a.example/bot)"
    assert config(user_agent="acme/2", contact="bot@a.example").agent == "acme/2 (+bot@a.example)"


@pytest.mark.req("NFR-11")
@pytest.mark.parametrize(
    "changes",
    [
        *({"contact": text} for text in ("a b", "a)b", "a\r\nX: y", "\u00fc")),
        *({"user_agent": text} for text in ("a\r\nX: y", "\u00fc", " a")),
        *({"own_endpoints": text} for text in ("a", "a:0", "u@a:1")),
        *({"egress_proxy": text} for text in ("proxy:3128", "https://proxy")),
    ],
)
def test_a_setting_that_cannot_be_sent_or_dialled_is_refused(changes: dict[str, str]):
    with pytest.raises(ValidationError):
        config(**changes)
