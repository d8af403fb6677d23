"""Names of files: safe wherever they are made."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapejobs_client.downloading import file_name

ID = "01a23172-71a2-77d5-9bd5-56eec5b3414d"


@pytest.mark.req("FR-8")
@pytest.mark.parametrize(
    ("content_type", "url", "name"),
    [
        ("text/html; charset=utf-8", None, f"{ID}.html"),
        ("application/json", None, f"{ID}.json"),
        (None, None, f"{ID}.bin"),
        ("no/such", None, f"{ID}.bin"),
        ("text/plain", "https://shop.example/item/1?size=2", f"shop.example_item_1_size_2_{ID}.txt"),
        ("text/plain", "https://shop.example/../../etc/passwd", f"shop.example_.._.._etc_passwd_{ID}.txt"),
        ("text/plain", "https://e.example/ü", f"e.example_{ID}.txt"),
    ],
)
def test_a_file_is_named_by_its_job_its_type_and_on_demand_its_url(
    content_type: str | None, url: str | None, name: str
):
    assert file_name(ID, content_type=content_type, url=url) == name


@pytest.mark.req("FR-8")
@given(st.text(max_size=300), st.text(max_size=300))
@example("../../x", "text/../../html")
@example(".\0\n", "http://h/" + "a" * 5000)
def test_no_name_leads_out_of_its_folder_or_hides(content_type: str, path: str):
    name = file_name(ID, content_type=content_type, url=f"http://h.example/{path}")
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}", name)
