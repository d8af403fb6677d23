"""The table of safeguards fits the code: one that moved, or a test that was renamed, must not stay in it unseen."""

import pytest

from tests.mutants.table import ROOT, Safeguard, safeguards


@pytest.mark.parametrize("safeguard", safeguards(), ids=lambda safeguard: safeguard.name)
def test_each_safeguard_stands_where_the_table_says_and_its_tests_are_there(safeguard: Safeguard) -> None:
    source = (ROOT / safeguard.file).read_text()
    assert safeguard.mutant(source) != source
    for test in safeguard.red:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text()


def test_the_table_has_a_safeguard_for_each_promise_that_stands_on_code() -> None:
    assert {safeguard.holds for safeguard in safeguards()} >= {f"P{n}" for n in range(1, 10)}
