"""The table of guards fits the code: a guard that moved, or a test that was renamed, must not stay in it unseen."""

import pytest

from tests.mutants.guards import ROOT, Guard, guards


@pytest.mark.parametrize("guard", guards(), ids=lambda guard: guard.name)
def test_each_guard_stands_where_the_table_says_and_its_tests_are_there(guard: Guard) -> None:
    source = (ROOT / guard.file).read_text()
    assert guard.mutant(source) != source
    for test in guard.red:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text()


def test_the_table_has_a_guard_for_each_promise_that_stands_on_code() -> None:
    assert {guard.holds for guard in guards()} >= {f"P{n}" for n in range(1, 10)}
