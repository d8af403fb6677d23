"""Deployments that must not go out: `manage.py check --deploy` and `manage.py doctor` refuse them."""

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Caution

from scrapejobs.config import Config

TAG: Final = "scrapejobs"
KEY_CHARS: Final = 32
MAKE_KEY: Final = 'Make one: python -c "import secrets; print(secrets.token_urlsafe(48))"'


@register(TAG, deploy=True)
def check_settings(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Django's entry to `faults`."""
    del app_configs, kwargs
    return list(faults(settings.CONFIG))


def faults(config: Config) -> Iterator[CheckMessage]:
    """What is wrong with settings that are valid one by one."""
    if len(config.secret_key.get_secret_value()) < KEY_CHARS:
        yield Error(
            f"SCRAPEJOBS_SECRET_KEY is shorter than {KEY_CHARS} characters: cursors and sessions can be forged",
            hint=MAKE_KEY,
            id="scrapejobs.E001",
        )
    yield from _sealing_faults(config)
    if "*" in config.allowed_hosts:
        yield Caution(
            "SCRAPEJOBS_ALLOWED_HOSTS is *: any Host header is believed",
            hint="List the names under which clients reach the gateway.",
            id="scrapejobs.W001",
        )
    if _is_public(config.bind):
        yield from _public_faults(config)


def _sealing_faults(config: Config) -> Iterator[CheckMessage]:
    if not config.sealing_keys:
        yield Error(
            "SCRAPEJOBS_SEALING_KEYS is not set: gateways, workers and couriers do not start without it",
            hint=MAKE_KEY,
            id="scrapejobs.E003",
        )
    if any(len(key) < KEY_CHARS for key in config.sealing_texts):
        yield Error(
            f"SCRAPEJOBS_SEALING_KEYS holds a key shorter than {KEY_CHARS} characters: secrets of jobs can be guessed",
            hint=f"Put a longer one first, then `manage.py secrets rotate`, then take the short one away. {MAKE_KEY}",
            id="scrapejobs.E004",
        )


def _public_faults(config: Config) -> Iterator[CheckMessage]:
    if config.callback_allow_http:
        yield Caution(
            "SCRAPEJOBS_CALLBACK_ALLOW_HTTP is on: finish events travel unencrypted",
            hint="Leave it off outside of tests.",
            id="scrapejobs.W002",
        )
    if set(config.allowed_hosts) <= {"127.0.0.1", "localhost"}:
        yield Caution(
            "the gateway listens to the network and answers only to the name localhost",
            hint="Set SCRAPEJOBS_ALLOWED_HOSTS to the names under which clients reach it.",
            id="scrapejobs.W003",
        )


def _is_public(bind: str) -> bool:
    try:
        return not ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind != "localhost"
