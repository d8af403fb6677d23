"""The one table of failure codes, and the line between temporary and permanent."""

import pytest

from scrapejobs.domain.outcome import CODES, Permanent, Temporary, class_of, failure, is_success, text_of


@pytest.mark.case("target-47")
@pytest.mark.req("NFR-7")
@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 507, 520])
def test_a_status_after_which_another_try_may_succeed_is_temporary(status: int) -> None:
    assert class_of(f"http_{status}") == "temporary"


@pytest.mark.case("target-48")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 451, 501, 505, 300, 304])
def test_a_status_that_another_try_would_repeat_is_permanent(status: int) -> None:
    assert class_of(f"http_{status}") == "permanent"


@pytest.mark.req("FR-7")
@pytest.mark.parametrize("code", [*CODES, "http_503", "http_404"])
def test_a_failure_has_the_class_and_the_text_of_its_code(code: str) -> None:
    made = failure(code)
    assert isinstance(made, Temporary if class_of(code) == "temporary" else Permanent)
    assert made.detail == text_of(code)


@pytest.mark.req("FR-7")
def test_a_code_that_does_not_exist_cannot_be_made() -> None:
    with pytest.raises(KeyError):
        failure("no_such_code")


@pytest.mark.case("target-48")
def test_a_job_may_name_statuses_that_count_as_success() -> None:
    assert is_success(200)
    assert is_success(204)
    assert not is_success(404)
    assert is_success(404, accepted=frozenset({404}))
