"""The first bytes of a refused answer, for the operator to look at: as text that is safe anywhere, without what the job
keeps secret, should the target have sent it back (NFR-12). They are no error text and never enter a log.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from html import escape
from json import dumps
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from scrapejobs.domain.masking import MASK, masked_answer, masked_params

SHOWN_BYTES: Final = 2048
READ_BYTES: Final = 2 * SHOWN_BYTES
"""More than is shown, so that a secret that begins within what is shown is seen whole."""

_SHORTEST_SECRET: Final = 4
_APART: Final = re.compile(r"[\s;,&=:]+")
_WORD: Final = re.compile(rb"[\w.~+/%@-]{6,}")


def evidence_of(data: bytes, *, secrets: frozenset[bytes], sent: bytes = b"") -> str:
    """Text of at most 2048 bytes of `data`: printable characters and line ends as they came, all else as escapes.
    What is in `secrets` is masked, and so is every longer word that was in the body `sent`.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        start = data.find(secret[:SHOWN_BYTES])
        if start >= 0 and len(secret) > SHOWN_BYTES:
            data = data[:start] + MASK.encode()
        data = data.replace(secret, MASK.encode())
    if sent:
        data = _WORD.sub(lambda word: MASK.encode() if word[0] in sent else word[0], data)
    text = data[:SHOWN_BYTES].decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def kept_headers(headers: Iterable[tuple[str, str]], *, secrets: frozenset[bytes]) -> tuple[tuple[str, str], ...]:
    """The headers of an answer to keep: as `masked_answer` leaves them, and without what the job keeps secret."""
    texts = [secret.decode("utf-8", "surrogateescape") for secret in sorted(secrets, key=len, reverse=True)]
    return tuple((name, reduce(_masked_in, texts, value)) for name, value in masked_answer(headers))


def _masked_in(text: str, secret: str) -> str:
    return text.replace(secret, MASK)


def secrets_of(url: str, *, headers: Mapping[str, str], query: Mapping[str, str]) -> frozenset[bytes]:
    """What of a request must not be shown, in each form in which a page could repeat it."""
    shown = masked_params({"headers": dict(headers)})["headers"]
    values = [value for name, value in headers.items() if shown[name] == MASK]
    values += [value for _, value in parse_qsl(urlsplit(url).query, errors="replace")]
    values += [value for value in query.values() if isinstance(value, str)]
    parts = {part for value in values for part in (value, *_APART.split(value)) if len(part) >= _SHORTEST_SECRET}
    return frozenset(form for part in parts for form in _forms(part))


def _forms(text: str) -> Iterator[bytes]:
    for form in (text, escape(text), quote(text, safe=""), quote_plus(text), dumps(text)[1:-1]):
        yield form.encode("utf-8", "surrogateescape")
