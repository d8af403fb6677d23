"""Each expectation is met by what is so, and by nothing else."""

import pytest

from scrapejobs.simulation.engine import simulate
from scrapejobs.simulation.expectations import Finding, findings
from scrapejobs.simulation.scenario import ScenarioError, parse

# One slot, one second a job: A hands in four, B two a moment later. A's turns are due at 0, 1, 2, 3 and B's at 0, 1, in
# virtual time, so they start a, b, a, b, a, a: at 0, 1, 2, 3, 4, 5.
TURNS = """
title = "turns"
slots = 1
arrivals = [{{ tenant = "a", host = "h", jobs = 4 }}, {{ tenant = "b", host = "h", at = 0.5, jobs = 2 }}]
expect = [{{ {expectation} }}]
"""


def found(expectation: str) -> Finding:
    scenario = parse(TURNS.format(expectation=expectation))
    return findings(scenario.expect, simulate(scenario))[-1]


@pytest.mark.parametrize(
    "expectation",
    [
        'kind = "order", first = ["a", "b", "a", "b", "a", "a"]',
        'kind = "shares", shares = { a = 0.5, b = 0.5 }, since = 1, until = 5, within = 0',
        'kind = "shares", shares = { a = 0.66, b = 0.34 }, within = 0.02',
        'kind = "shares", of = "finished", shares = { a = 1 }, until = 2, within = 0',
        'kind = "shares", by = "priority", shares = { normal = 1 }, within = 0',
        'kind = "greatest_wait", at_most = 5',
        'kind = "greatest_wait", tenant = "b", at_most = 2.5',
        'kind = "ahead", tenant = "b", at_most = 1',
        'kind = "all_finish"',
        'kind = "most_running", by = "tenant", name = "a", exactly = 1',
        'kind = "jain", at_least = 0.9',
    ],
)
def test_what_is_so_is_met(expectation: str):
    assert found(expectation).is_met


@pytest.mark.parametrize(
    ("expectation", "seen"),
    [
        ('kind = "order", first = ["a", "a"]', "a, b"),
        ('kind = "shares", shares = { a = 0.5, b = 0.5 }, within = 0.1', "a 0.667, b 0.333"),
        ('kind = "shares", shares = { nobody = 0.1 }', "nobody 0.000"),
        ('kind = "shares", shares = { a = 1 }, since = 100', "nothing started"),
        ('kind = "greatest_wait", tenant = "b", at_most = 2.4', "2.500 s"),
        ('kind = "greatest_wait", tenant = "nobody", at_most = 9', "no job"),
        ('kind = "ahead", tenant = "b", at_most = 0', "1"),
        ('kind = "all_finish", host = "nowhere"', "0 of 0"),
        ('kind = "most_running", by = "tenant", name = "a", exactly = 2', "1"),
        ('kind = "jain", at_least = 0.91', "0.900000"),
    ],
)
def test_what_is_not_so_is_not_met(expectation: str, seen: str):
    finding = found(expectation)
    assert not finding.is_met
    assert finding.found == seen


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("slots = 1", "slots = 0"), "slots"),
        (("slots = 1", "slots = 1\nslot = 2"), "slot"),
        (('host = "h", jobs = 4', 'host = "h", jobs = 4, every = 2'), "arrivals 1: say one of"),
        (('host = "h", jobs = 4', 'host = "h", per_s = 4'), "arrivals 1: say until when"),
        (('tenant = "a", ', ""), "arrivals 1: say tenant and host"),
        (("slots = 1", 'slots = 1\norder = "arrival"\nhosts.h.rate = 3'), "knows no weights and no limits"),
        (("slots = 1", "slots = 1\nhosts.h.seconds = [1, -2]"), "seconds"),
        (("slots = 1", "slots = 1\nhosts.h.seconds = [1]"), "seconds"),
        (("slots = 1", "slots = "), "Invalid value"),
        (("slots = 1", "slots = 1\nduration = inf"), "duration"),
        (("slots = 1", "slots = 1\nduration = nan"), "duration"),
        (('kind = "jain"', 'kind = "luck"'), "luck"),
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused_and_told_why(change: tuple[str, str], problem: str):
    text = TURNS.format(expectation='kind = "jain", at_least = 0.9')
    assert change[0] in text
    with pytest.raises(ScenarioError, match=problem):
        parse(text.replace(*change))
