"""Evidence: the first bytes of a refused answer as text that is safe to show, without the job's secrets."""

import pytest

from scrapejobs.domain.evidence import SHOWN_BYTES, evidence_of, kept_headers, secrets_of

pytestmark = [pytest.mark.case("target-48"), pytest.mark.req("NFR-12")]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"<h1>no</h1>\n", "<h1>no</h1>\n"),
        ("grüße".encode(), "grüße"),
        (b"caf\xe9", "caf\\xe9"),
        (b"a\x00b\x1b[2J\r\n", "a\\x00b\\x1b[2J\\r\n"),
        ("a\u202eb\u2028c".encode(), "a\\u202eb\\u2028c"),
        (b"", ""),
    ],
)
def test_what_a_target_sent_becomes_text_that_is_safe_anywhere(data: bytes, text: str) -> None:
    assert evidence_of(data, secrets=frozenset()) == text


def test_no_more_than_two_kib_are_kept() -> None:
    assert evidence_of(b"x" * 5000, secrets=frozenset()) == "x" * SHOWN_BYTES


HEADERS = {"Authorization": "Bearer t0p-s3cret", "Cookie": "sid=abc123; theme=dark&y", "Accept": "text/html"}


@pytest.mark.parametrize(
    "page",
    [
        b"you sent Bearer t0p-s3cret!",
        b"token t0p-s3cret is not known",
        b'{"cookie": "abc123"}',
        b"<p>dark&amp;y</p> dark%26y",
        b"/search?q=f%C3%BCnf",
        "no fünf here".encode(),
        b"key=hidden9",
    ],
)
def test_a_page_that_repeats_a_secret_does_not_show_it(page: bytes) -> None:
    secrets = secrets_of("http://a.example/?key=hidden9&x=", headers=HEADERS, query={"q": "fünf", "n": "1"})
    shown = evidence_of(page, secrets=secrets)
    assert "***" in shown
    for secret in ("t0p-s3cret", "abc123", "dark&amp;y", "fünf", "f%C3%BCnf", "hidden9"):
        assert secret not in shown


def test_what_is_no_secret_stays() -> None:
    secrets = secrets_of("http://a.example/", headers={"Accept": "text/html", "X-Flag": "on"}, query={})
    assert evidence_of(b"text/html is on", secrets=secrets) == "text/html is on"


def test_a_secret_that_ends_behind_what_is_shown_is_not_shown_in_part() -> None:
    secret = "s" * 1000
    assert "s" not in evidence_of(b"x" * 1500 + secret.encode(), secrets=frozenset({secret.encode()}))
    longer = b"t" * 10_000
    assert evidence_of(b"x" + longer[:4095], secrets=frozenset({longer})) == "x***"


def test_words_of_the_body_that_was_sent_are_masked() -> None:
    sent = b'{"password": "correct.horse-42"}'
    assert (
        evidence_of(b"no user with correct.horse-42 in it", secrets=frozenset(), sent=sent) == "no user with *** in it"
    )


@pytest.mark.req("NFR-12")
def test_a_header_that_sends_a_secret_back_is_kept_without_it() -> None:
    secrets = secrets_of("https://a.example/?k=query+secret", headers={"X-Api-Key": "s3cret-key"}, query={})
    headers = [("X-Echo", "key=s3cret-key; k=query%20secret"), ("ETag", '"abc"'), ("Set-Cookie", "s=1")]
    kept = (("X-Echo", "key=***; k=***"), ("ETag", '"abc"'), ("Set-Cookie", "***"))
    assert kept_headers(headers, secrets=secrets) == kept
