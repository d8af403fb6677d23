"""YAML out, as much of it as a JSON value needs: block mappings and lists, scalars as JSON (YAML 1.2 holds JSON)."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_PLAIN: Final = re.compile(r"[A-Za-z_$/][A-Za-z0-9_./{}-]*")
_NOT_PLAIN: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def dump(value: Any) -> str:
    """A JSON value as YAML."""
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{indent}{_key(key)}:", item, indent + "  ")
    elif isinstance(value, list) and value:
        for item in value:
            yield from _entry(f"{indent}-", item, indent + "  ")
    else:
        yield indent + json.dumps(value, ensure_ascii=False)


def _entry(head: str, item: Any, indent: str) -> Iterator[str]:
    below = list(_lines(item, indent))
    if isinstance(item, dict | list) and item:
        yield head
        yield from below
    else:
        yield f"{head} {below[0].strip()}"


def _key(key: str) -> str:
    return key if _PLAIN.fullmatch(key) and key.lower() not in _NOT_PLAIN else json.dumps(key, ensure_ascii=False)
