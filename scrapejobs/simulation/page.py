"""A simulation as one page: charts, expectations and figures. It needs no script and no other file."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

from scrapejobs.simulation.charts import Bar, bar_chart, line_chart
from scrapejobs.simulation.expectations import Finding, Shares
from scrapejobs.simulation.record import Record
from scrapejobs.simulation.report import COLUMNS, Report
from scrapejobs.simulation.scenario import Scenario
from scrapejobs.simulation.series import finished_by_tenant, queue_age


def page_of(scenario: Scenario, record: Record, report: Report) -> str:
    """The page, as HTML."""
    template = Template((Path(__file__).parent / "page.html").read_text("utf-8"))
    return template.substitute(
        title=escape(report.title),
        summary=escape(report.summary),
        expectations=_expectations(report.expectations),
        finished=line_chart(finished_by_tenant(record), label="finished jobs by tenant, over time"),
        shares=_shares(scenario, record, report),
        ages=line_chart(queue_age(record), label="age of the queues by priority, over time"),
        figures=_table(COLUMNS, ([getattr(row, column) for column in COLUMNS] for row in report.rows)),
    )


def _shares(scenario: Scenario, record: Record, report: Report) -> str:
    """Each expectation of shares with what was found; without any, the shares of the priorities in all starts."""
    charts = [
        _chart([Bar(name, found, wanted.shares[name]) for name, found in wanted.found(record).items()], wanted.text())
        for wanted in scenario.expect
        if isinstance(wanted, Shares)
    ]
    if not charts:
        bars = [Bar(row.name, row.share) for row in report.rows if row.kind == "priority"]
        charts.append(_chart(bars, "shares of all starts by priority"))
    return "".join(charts)


def _chart(bars: Sequence[Bar], text: str) -> str:
    return f"<p>{escape(text)}</p>{bar_chart(bars, label=text)}"


def _expectations(findings: Iterable[Finding]) -> str:
    rows = (
        f'<tr><td class="{"yes" if finding.is_met else "no"}">{"met" if finding.is_met else "not met"}</td>'
        f"<td>{escape(finding.expected)}</td><td>{escape(finding.found)}</td></tr>"
        for finding in findings
    )
    return f"<table><tr><th></th><th>expected</th><th>found</th></tr>{''.join(rows)}</table>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(column.replace('_', ' '))}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
