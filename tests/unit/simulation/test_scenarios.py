"""The scenarios that come with the product are tests: each says what it must show."""

import pytest

from scrapejobs.simulation.engine import simulate
from scrapejobs.simulation.expectations import findings
from scrapejobs.simulation.scenario import changed, read, shipped

CHECK_VALUES = {
    "check-arrival-order", "check-even-shares", "check-strict-priority", "check-weights", "check-swapped",
}  # fmt: skip


@pytest.mark.req("NFR-5")
@pytest.mark.req("NFR-6")
@pytest.mark.req("FR-12")
@pytest.mark.case("S13")
@pytest.mark.case("S15")
@pytest.mark.case("S21")
@pytest.mark.parametrize("name", shipped())
def test_scenario_shows_what_it_expects(name: str):
    scenario = read(name)
    assert scenario.expect
    unmet = [f"{finding.expected}: {finding.found}" for finding in findings(scenario.expect, simulate(scenario))
             if not finding.is_met]  # fmt: skip
    assert unmet == []


@pytest.mark.req("NFR-5")
def test_each_check_value_of_the_requirements_has_its_scenario():
    assert set(shipped()) >= CHECK_VALUES


@pytest.mark.req("NFR-5")
@pytest.mark.parametrize("name", ["scarce-workers", "saturated-host", "sixty-tenants", "one-job-beside-a-burst"])
@pytest.mark.parametrize("seed", [2, 3])
def test_shares_do_not_hang_on_the_seed(name: str, seed: int):
    scenario = changed(read(name), seed=seed)
    assert all(finding.is_met for finding in findings(scenario.expect, simulate(scenario)))
