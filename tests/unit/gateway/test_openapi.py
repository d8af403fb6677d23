"""The contract as a file says what the code does."""

import json
from pathlib import Path
from typing import Any

import pytest

from scrapejobs.gateway import docs, openapi, yaml
from scrapejobs.gateway.problems import PROBLEMS
from scrapejobs.urls import SURFACES

FILE = Path(__file__).parents[3] / "docs" / "reference" / "openapi.yaml"


def test_the_committed_file_is_fresh() -> None:
    assert FILE.read_text(encoding="utf-8") == yaml.dump(openapi.document(SURFACES["all"])), "run: manage.py openapi"


def test_every_problem_is_told_somewhere() -> None:
    told = json.dumps(openapi.document(SURFACES["all"]))
    assert [name for name in PROBLEMS if f"`{name}`" not in told] == ["method-not-allowed"]


def test_a_surface_serves_its_own_routes() -> None:
    told = {name: {(route.method, route.path) for route in routes} for name, routes in SURFACES.items()}
    assert told["intake"] | told["query"] == told["all"]
    assert ("POST", "/jobs") not in told["query"]
    assert ("GET", "/jobs") not in told["intake"]


def page_of(document: dict[str, Any]) -> str:
    """The page for people."""
    from django.template.loader import render_to_string

    return render_to_string("gateway/docs.html", docs.page_of(document))


def test_the_page_needs_nothing_from_outside() -> None:
    page = page_of(openapi.document(SURFACES["all"]))
    assert "http://" not in page
    assert "https://" not in page
    assert "POST /jobs/{id}/cancel" in page


def test_the_page_shows_code_as_code_and_all_else_as_text() -> None:
    document = openapi.document(SURFACES["all"])
    assert "`" not in page_of(document)
    document["info"] = document["info"] | {"description": "`a` <b> & `c`"}
    assert "<p><code>a</code> &lt;b&gt; &amp; <code>c</code></p>" in page_of(document)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            {"a": [1, {"b": None, "c": []}]},
            "a:\n  -\n    1\n".replace("-\n    1", "- 1") + "  -\n    b: null\n    c: []\n",
        ),
        ({"no": "x: y", "200": True}, '"no": "x: y"\n"200": true\n'),
    ],
)
def test_yaml_is_written_in_blocks(value: object, text: str) -> None:
    assert yaml.dump(value) == text
