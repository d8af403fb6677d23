"""Which service, and with which key. A key never stands among the arguments, where every user of a machine sees it."""

import argparse
import os
from pathlib import Path
from typing import Final

from scrapejobs_client.cli.exits import WrongUseError
from scrapejobs_client.client import USER_AGENT, Client

URL: Final = "SCRAPEJOBS_URL"
KEY: Final = "SCRAPEJOBS_KEY"
RETRY_FOR_S: Final = 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("service")
    group.add_argument("--url", metavar="URL", help=f"where the API is (default: ${URL})")
    group.add_argument("--key-file", type=Path, metavar="FILE", help=f"a file with an API key (default: ${KEY})")
    group.add_argument(
        "--retry-for",
        type=float,
        default=RETRY_FOR_S,
        metavar="S",
        help=f"how long a call that fails for now is repeated (default: {RETRY_FOR_S:g} seconds)",
    )


def connect(options: argparse.Namespace) -> Client:
    """The client that options and environment name. Raises `WrongUseError`."""
    url = options.url or os.environ.get(URL)
    if not url:
        raise WrongUseError(f"which service? Set {URL} or give --url; it looks like http://127.0.0.1:8000")
    try:
        return Client(url, _key(options.key_file), retry_for_s=options.retry_for, user_agent=f"{USER_AGENT} cli")
    except ValueError as error:
        raise WrongUseError(str(error)) from None


def _key(file: Path | None) -> str:
    key = _read(file) if file else os.environ.get(KEY, "")
    if not key:
        raise WrongUseError(f"no API key: set {KEY} or give --key-file")
    return key


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUseError(f"{file}: {getattr(error, 'strerror', None) or 'not a text file'}") from None
