"""The page with charts: what its lines and bars show, and that nothing in it comes from elsewhere."""

import re
from html.parser import HTMLParser

import pytest

from scrapejobs.simulation.charts import ticks
from scrapejobs.simulation.engine import simulate
from scrapejobs.simulation.page import page_of
from scrapejobs.simulation.report import report_of
from scrapejobs.simulation.scenario import Scenario, parse, read, shipped
from scrapejobs.simulation.series import SAMPLES, finished_by_tenant, queue_age

# One slot, twelve seconds a job: they start at 0, 12 and 24 and end at 12, 24 and 36. With 120 samples the times are
# 0, 0.3, 0.6, ... 36.
THREE = 'title = "three"\nslots = 1\nhosts.h.seconds = 12\narrivals = [{ tenant = "a", host = "h", jobs = 3 }]\n'


def page(scenario: Scenario) -> str:
    record = simulate(scenario)
    return page_of(scenario, record, report_of(scenario, record))


class Reader(HTMLParser):
    """Keeps tags, attributes and text; complains of tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read_page(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


def test_a_line_shows_how_many_have_ended_by_each_time():
    timeline = finished_by_tenant(simulate(parse(THREE)))
    assert len(timeline.times) == SAMPLES + 1
    by_time = dict(zip([round(time, 6) for time in timeline.times], timeline.lines[0].values, strict=True))
    assert [by_time[time] for time in (0, 11.7, 12, 23.7, 24, 36)] == [0, 0, 1, 1, 2, 3]


def test_the_age_of_a_queue_is_the_wait_of_the_job_that_waits_longest():
    later = THREE.replace("jobs = 3 }", 'jobs = 2 }, { tenant = "b", host = "h", at = 6, jobs = 1 }')
    timeline = queue_age(simulate(parse(later)))  # b starts at 12 and has waited 6, a's second job at 24
    by_time = dict(zip([round(time, 6) for time in timeline.times], timeline.lines[0].values, strict=True))
    assert [round(by_time[time], 6) for time in (0, 6, 11.7, 23.7, 24, 36)] == [0, 6, 11.7, 23.7, 0, 0]


def test_many_tenants_are_seven_lines_and_the_rest_is_one_of_them():
    crowd = ", ".join(f'{{ tenant = "t{n}", host = "h", jobs = {n} }}' for n in range(1, 11))
    timeline = finished_by_tenant(simulate(parse(f'title = "many"\nslots = 9\narrivals = [{crowd}]')))
    assert {line.name: line.values[-1] for line in timeline.lines} == {
        "t10": 10, "t9": 9, "t8": 8, "t7": 7, "t6": 6, "t5": 5, "4 others": 1 + 2 + 3 + 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("greatest", "expected"),
    [(0, [0, 1]), (1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (7, [0, 2, 4, 6, 8]), (430, [0, 100, 200, 300, 400, 500])],
)
def test_ticks_are_round_and_reach_the_greatest_value(greatest: float, expected: list[float]):
    assert ticks(greatest) == pytest.approx(expected)


def test_the_page_shows_shares_beside_those_expected():
    scenario = parse("""
        title = "shares"
        slots = 1
        duration = 100
        arrivals = [{ tenant = "a", host = "h", jobs = 100 }, { tenant = "b", host = "h", jobs = 100 }]
        expect = [{ kind = "shares", shares = { a = 0.5, b = 0.25 } }]
    """)
    text = read_page(page(scenario)).text
    assert "50.0%, expected 50.0%" in text
    assert "50.0%, expected 25.0%" in text
    assert "not met" in text


def test_no_name_can_put_anything_into_the_page():
    evil = '<script>alert(1)</script>\\" onload=x &amp; $title'
    scenario = parse(f"""
        title = "{evil}"
        slots = 1
        arrivals = [{{ tenant = "{evil}", host = "{evil}", jobs = 2 }}]
        expect = [{{ kind = "shares", shares = {{ "{evil}" = 1 }} }}]
    """)
    reader = read_page(page(scenario))
    assert "script" not in reader.tags
    assert not {name for name, _ in reader.attributes if name.startswith("on")}
    assert scenario.title in reader.text


def test_a_page_of_nothing_is_a_page():
    nothing = THREE.replace("jobs = 3", "at = 6, jobs = 3").replace("slots = 1", "slots = 1\nduration = 5")
    assert "0 jobs" in read_page(page(parse(nothing))).text


@pytest.mark.parametrize("name", shipped()[:4])
def test_the_page_is_whole_and_needs_nothing_from_elsewhere(name: str):
    html = page(read(name))
    reader = read_page(html)
    assert {"svg", "polyline", "rect", "table"} <= reader.tags
    assert reader.tags.isdisjoint({"script", "link", "img", "iframe"})
    assert not re.search(r"https?://|url\(|@import", html)
    assert "prefers-color-scheme: dark" in html
    assert not re.search(r'"[^"]*\bnan\b', html)
