"""Cursors."""

from uuid import UUID

import pytest

from scrapejobs.gateway import cursor
from scrapejobs.gateway.problems import Problem

pytestmark = [pytest.mark.req("FR-6"), pytest.mark.req("NFR-5")]

LAST = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
WANTED = {"status": "failed"}


def redeem(text: str, *, tenant_id: int = 1, wanted: object = WANTED, signed_with: str = "s") -> UUID:
    return cursor.redeem(text, tenant_id=tenant_id, wanted=wanted, secret=signed_with)


@pytest.fixture
def issued() -> str:
    return cursor.issue(LAST, tenant_id=1, wanted=WANTED, secret="s")


def test_a_cursor_gives_back_where_the_page_ended(issued: str) -> None:
    assert redeem(issued) == LAST


def test_a_cursor_is_good_for_nobody_and_nothing_else(issued: str) -> None:
    for other in ({"tenant_id": 2}, {"wanted": {"status": "queued"}}, {"signed_with": "t"}):
        with pytest.raises(Problem, match="invalid-cursor"):
            redeem(issued, **other)  # type: ignore[arg-type]


def test_every_changed_character_is_noticed(issued: str) -> None:
    for i, character in enumerate(issued):
        for bit in range(7):
            changed = issued[:i] + chr(ord(character) ^ (1 << bit)) + issued[i + 1 :]
            with pytest.raises(Problem, match="invalid-cursor"):
                redeem(changed)


@pytest.mark.parametrize("text", ["", "a", "é" * 44, "=" * 44, "A" * 43, "A" * 6000])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="invalid-cursor"):
        redeem(text)
