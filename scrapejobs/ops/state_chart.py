"""The page docs/state-machine.md, made of the table in `domain/job.py`."""

from collections.abc import Iterator

from scrapejobs.domain.job import FINAL, TRANSITIONS, Status

_HEAD = """\
# State machine

Made of the table `TRANSITIONS` in `scrapejobs/domain/job.py` by `manage.py state_machine`; a test fails when this page
is stale. What is not here does not happen: a verb that finds a job elsewhere changes nothing and says so.
"""


def markdown() -> str:
    """The whole page."""
    return "\n".join([_HEAD, "```mermaid", *_chart(), "```", "", *_table(), ""])


def _chart() -> Iterator[str]:
    yield "stateDiagram-v2"
    yield f"    [*] --> {Status.QUEUED}: submit"
    for source, target in dict.fromkeys((t.source, t.target) for t in TRANSITIONS):
        verbs = dict.fromkeys(t.verb for t in TRANSITIONS if (t.source, t.target) == (source, target))
        yield f"    {source} --> {target}: {', '.join(verbs)}"
    for status in Status:
        if status in FINAL:
            yield f"    {status} --> [*]"


def _table() -> Iterator[str]:
    yield "| from | verb | to | when |"
    yield "|---|---|---|---|"
    for t in TRANSITIONS:
        yield f"| {t.source} | `{t.verb}` | {t.target} | {t.when} |"
