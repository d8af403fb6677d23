"""JSON read strictly: one meaning for each text, and nothing that the store cannot keep.

The text is read by `json`, since msgspec keeps the last of two equal keys in silence; the shapes are msgspec's.
"""

import json
import math
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from scrapejobs.gateway.problems import Mistake, Problem, invalid

MAX_DEPTH: Final = 32
INTEGERS: Final = range(-(2**63), 2**63)


def parse(text: bytes) -> Any:
    """The value of a JSON text (RFC 8259) in UTF-8.

    Raises `Problem`: `invalid-json` for what is no JSON or says one key twice, `json-too-deep` beyond 32 levels,
    `invalid-request` for numbers and characters that cannot be kept, which in a `url` is `invalid-url`.
    """
    value = decode(text)
    check(value)
    return value


def decode(text: bytes) -> Any:
    """What `parse` reads, before it is looked at whether it can be kept. Raises `Problem` `invalid-json`,
    `json-too-deep`.
    """
    try:
        return _DECODER.decode(text.decode("utf-8"))
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise Problem("invalid-json", _in_words(error)) from None


def check(value: Any) -> None:
    """Raises `Problem` for what `parse` refuses beyond the grammar."""
    for pointer, flaw in _flaws(value):
        raise _flawed(pointer, flaw)


class _DuplicateKeyError(ValueError):
    """The same key twice in one object: two readers would take two meanings."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKeyError
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)


def _in_words(error: ValueError) -> str:
    match error:
        case _DuplicateKeyError():
            return "a key is given twice in one object"
        case UnicodeDecodeError():
            return f"not UTF-8 at byte {error.start}"
        case json.JSONDecodeError():
            return f"not JSON at line {error.lineno}, column {error.colno}"
        case _:
            return "a number that JSON does not have, or one of thousands of digits"


def _flaws(value: Any) -> Iterator[tuple[str, str]]:
    """Pointer and flaw of each part that cannot be kept. Without recursion, for the depth is not known yet."""
    rest: list[tuple[str, Any, int]] = [("", value, 1)]
    while rest:
        pointer, part, depth = rest.pop()
        if isinstance(part, dict | list):
            if depth > MAX_DEPTH:
                raise _too_deep()
            items = part.items() if isinstance(part, dict) else enumerate(part)
            for key, item in items:
                if isinstance(key, str) and (flaw := _flaw_of_text(key)):
                    yield pointer, f"a key holds {flaw}"
                rest.append((f"{pointer}/{_escaped(key)}", item, depth + 1))
        elif flaw := _flaw_of(part):
            yield pointer, flaw


def _flaw_of(part: Any) -> str | None:
    if isinstance(part, str):
        flaw = _flaw_of_text(part)
        return f"the text holds {flaw}" if flaw else None
    if isinstance(part, float) and not math.isfinite(part):
        return "the number is too large"
    if isinstance(part, int) and part not in INTEGERS:
        return "the number is too large"
    return None


def _flaw_of_text(text: str) -> str | None:
    if "\0" in text:
        return "a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair"
    return None


def _escaped(key: object) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _too_deep() -> Problem:
    return Problem("json-too-deep", f"no more than {MAX_DEPTH} levels")


def _flawed(pointer: str, flaw: str) -> Problem:
    if pointer == "/url":
        return Problem("invalid-url", flaw, [Mistake(pointer, "value", flaw)])
    return invalid(pointer.encode("utf-8", "replace").decode(), "value", flaw)
