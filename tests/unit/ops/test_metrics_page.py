"""The page of metrics says what the code exports: kind and labels of each."""

import re
from pathlib import Path

import pytest
from prometheus_client import Counter, Histogram

from scrapejobs.ops.collector import ROW_GAUGES
from scrapejobs.telemetry import metrics

PAGE = Path(__file__).resolve().parents[3] / "docs/reference/metrics.md"
ROW = re.compile(r"^\| `(scrapejobs_\w+)` \| (\w+)(?:; ([^|]*))? \|", re.MULTILINE)

Shape = tuple[str, tuple[str, ...]]


def exported() -> dict[str, Shape]:
    """Each metric's kind and labels, as the code has them."""
    shapes: dict[str, Shape] = {gauge.name: ("gauge", gauge.labels) for gauge in ROW_GAUGES}
    for metric in vars(metrics).values():
        if isinstance(metric, Counter | Histogram):
            name = metric._name + ("_total" if isinstance(metric, Counter) else "")
            shapes[name] = (metric._type, tuple(metric._labelnames))
    return shapes


def told() -> dict[str, Shape]:
    """The same, as the page has them: labels after the kind, each with its values or without."""
    rows = ROW.findall(PAGE.read_text("utf-8"))
    return {name: (kind, tuple(re.findall(r"`(\w+)`", re.sub(r":[^;]*", "", labels)))) for name, kind, labels in rows}


@pytest.mark.req("FR-13")
def test_the_page_tells_kind_and_labels_of_each_metric():
    assert told() == exported()
