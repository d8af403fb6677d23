"""What is drawn from a seed can be played again."""

import contextlib
from itertools import pairwise
from random import Random

from tests.chaos.nemesis import Wrong, schedule

SECONDS = 60.0


def wrong(on: str) -> Wrong:
    return Wrong(lambda _world, _rng: contextlib.nullcontext(), on, (0.5, 3.0))


WRONGS = {"a-cut": wrong("a"), "a-held": wrong("a"), "b-cut": wrong("b")}


def test_the_same_seed_gives_the_same_schedule_and_another_gives_another():
    drawn = [schedule(Random(seed), WRONGS, seconds=SECONDS) for seed in ("x", "x", "y")]
    assert drawn[0] == drawn[1] != drawn[2]


def test_every_fault_comes_in_the_order_of_time_and_begins_before_the_end():
    strikes = schedule(Random("x"), WRONGS, seconds=SECONDS)
    assert {strike.fault for strike in strikes} == set(WRONGS)
    assert strikes == sorted(strikes, key=lambda strike: strike.at_s)
    assert all(0 < strike.at_s < SECONDS and 0.5 <= strike.for_s <= 3.0 for strike in strikes)


def test_one_thing_is_struck_by_one_fault_at_a_time_and_two_things_may_be_struck_together():
    strikes = schedule(Random("x"), WRONGS, seconds=SECONDS)
    on_a = [strike for strike in strikes if strike.fault.startswith("a-")]
    assert all(one.at_s + one.for_s < other.at_s for one, other in pairwise(on_a))
    on_b = [strike for strike in strikes if strike not in on_a]
    assert any(a.at_s < b.at_s < a.at_s + a.for_s for a in on_a for b in on_b)
