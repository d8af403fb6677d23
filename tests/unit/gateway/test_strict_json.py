"""The reader of bodies."""

import pytest

from scrapejobs.gateway.problems import Problem
from scrapejobs.gateway.strict_json import MAX_DEPTH, parse

pytestmark = pytest.mark.req("FR-1")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"", "invalid-json"),
        (b"\xef\xbb\xbf{}", "invalid-json"),
        (b"\xff{}", "invalid-json"),
        (b"{} {}", "invalid-json"),
        (b'{"a":1,"a":1}', "invalid-json"),
        (b'{"a":{"b":1,"\\u0062":1}}', "invalid-json"),
        (b"[NaN]", "invalid-json"),
        (b"[-Infinity]", "invalid-json"),
        (b'["\t"]', "invalid-json"),
        (b"[" + b"9" * 5000 + b"]", "invalid-json"),
        (b"[1e999]", "invalid-request"),
        (b"[9223372036854775808]", "invalid-request"),
        (b'["\\u0000"]', "invalid-request"),
        (b'{"\\udc00":1}', "invalid-request"),
        (b'{"url":"\\ud800"}', "invalid-url"),
        (b'{"x":{"url":"\\ud800"}}', "invalid-request"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "json-too-deep"),
        (b'{"a":' * 100_000, "json-too-deep"),
    ],
)
def test_what_has_no_one_meaning_is_refused(text: bytes, name: str) -> None:
    with pytest.raises(Problem) as refusal:
        parse(text)
    assert refusal.value.name == name


def test_a_mistake_is_pointed_at_and_its_pointer_can_be_sent() -> None:
    with pytest.raises(Problem) as refusal:
        parse(b'{"a/b":{"\\ud800":["\\u0000"]}}')
    assert refusal.value.answer().status_code == 400


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b' {"a": [1, -2.5e3, true, null, "\\ud83d\\ude00"]} ', {"a": [1, -2500.0, True, None, "\U0001f600"]}),
        (b"9223372036854775807", 2**63 - 1),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
    ],
)
def test_what_is_right_is_read(text: bytes, value: object) -> None:
    assert parse(text) == value or value is None
