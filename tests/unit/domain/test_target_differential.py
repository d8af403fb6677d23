"""Whatever our parser reads, other parsers read as the same scheme, host and port: there is no second meaning to slip
through (NFR-11).

The run here is short. A long one:
`pytest tests/unit/domain/test_target_differential.py --hypothesis-profile long --timeout 0`.
"""

from urllib.parse import urlsplit

import idna
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from urllib3.util import parse_url
from yarl import URL

from scrapejobs.domain.addresses import EgressPolicy
from scrapejobs.domain.target import DEFAULT_PORTS, InvalidUrl, Target, UrlNotAllowed, parse_target

pytestmark = pytest.mark.req("NFR-11")

BUDGET = settings(max_examples=settings().max_examples * 5, suppress_health_check=[HealthCheck.too_slow])
ODD = (
    "@:/\\?#[]%.;,&=!$'()*+~|^`<>{}\"-_ \t\r\n\x00\x7f\xa0\u200b\u200d\u3002\uff0e\uff10\uff20\uff1a\uff0f\u2044\u00ad"
)

schemes = st.sampled_from(["http", "https", "HTTP", "Https", "ftp", "http+x", ""])
separators = st.sampled_from(["://"] * 8 + [":/", ":", ":///", ":\\\\", "//", ":/\\", "://@", "://u:p@"])
labels = st.one_of(
    st.sampled_from(
        ["a", "www", "example", "com", "127", "0", "1", "0x7f", "017", "8", "xn--bcher-kva", "b\u00fccher"]
    ),
    st.sampled_from(
        ["\u05d0\u05d1", "\u4f8b\u3048", "\uff11", "\u2460", "stra\u00dfe", "A_b", "-a", "%61", "localhost"]
    ),
    st.text(alphabet="abz019-_" + ODD, min_size=1, max_size=4),
    st.text(min_size=1, max_size=3),
)
names = st.lists(labels, min_size=1, max_size=5).map(".".join)
literals = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
    st.ip_addresses(v=6).map(lambda address: f"[{address.exploded.upper()}]"),
    st.sampled_from(["[::ffff:8.8.8.8]", "[fe80::1%25eth0]", "[::1", "1.1", "2130706433", "[2606:4700::1111]"]),
)
ports = st.one_of(
    st.just(""),
    st.integers(0, 70_000).map(lambda port: f":{port}"),
    st.sampled_from([":", ":080", ":+80", ":-1", ":80:80", ": 80", ":\uff18\uff10"]),
)
tails = st.one_of(
    st.sampled_from(
        ["", "/", "?", "#", "/?", "/#@b.example/", "?@b.example/", "//b.example", "/@b.example:1/", "/a:b@c"]
    ),
    st.text(alphabet="ab/?#" + ODD, max_size=12),
    st.text(max_size=8).map(lambda text: f"/{text}"),
)
composed = st.builds("{}{}{}{}{}".format, schemes, separators, st.one_of(names, names, literals), ports, tails)


def inserted(url: str, at: float, odd: str) -> str:
    """The URL with one odd character somewhere in it."""
    cut = int(at * len(url))
    return url[:cut] + odd + url[cut:]


plain_labels = st.one_of(
    st.from_regex(r"[a-z0-9_]([a-z0-9_-]{0,8}[a-z0-9_])?", fullmatch=True),
    st.sampled_from(
        ["b\u00fccher", "stra\u00dfe", "\u4f8b\u3048", "xn--bcher-kva", "A_b", "127", "0x7f", "\u05d0\u05d1"]
    ),
    st.text(alphabet=st.characters(categories=["Ll", "Lo", "Nd"]), min_size=1, max_size=4),
)
plain = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https", "HTTP", "Https"]),
    st.one_of(
        st.lists(plain_labels, min_size=1, max_size=3).map(lambda each: ".".join([*each, "example"])),
        st.lists(plain_labels, min_size=2, max_size=3).map(".".join),
        st.sampled_from(["8.8.8.8", "[2606:4700::1111]", "[2606:4700:0:0::1111]", "A.Example.", "a.example."]),
    ),
    st.one_of(st.just(""), st.integers(1024, 65_535).map(lambda port: f":{port}")),
    tails,
)
urls = st.one_of(
    plain,
    st.builds(inserted, plain, st.floats(0, 1), st.sampled_from(ODD)),
    composed,
    st.text(max_size=40).map(lambda text: f"http://{text}"),
)


def read(url: str) -> Target | None:
    try:
        return parse_target(url, policy=EgressPolicy())
    except (InvalidUrl, UrlNotAllowed):
        return None


def as_dialled(host: str | None) -> str:
    """A host as other parsers give it, as it would be dialled: without brackets and dot, in punycode."""
    assert host
    host = host.strip("[]").removesuffix(".").lower()
    return ".".join(label if label.isascii() else idna.alabel(label).decode() for label in host.split("."))


def seen_by_others(url: str) -> set[tuple[str, str, int]]:
    """What three parsers take the URL for."""
    split, by_yarl, by_urllib3 = urlsplit(url), URL(url), parse_url(url)
    return {
        (split.scheme, as_dialled(split.hostname), split.port or DEFAULT_PORTS[split.scheme]),
        (by_yarl.scheme, as_dialled(by_yarl.raw_host), by_yarl.port or 0),
        (
            str(by_urllib3.scheme),
            as_dialled(by_urllib3.host),
            by_urllib3.port or DEFAULT_PORTS[str(by_urllib3.scheme)],
        ),
    }


@BUDGET
@given(urls)
def test_whatever_is_read_others_read_as_the_same_scheme_host_and_port(url: str) -> None:
    target = read(url)
    event("read" if target else "refused")
    if target is None:
        return
    host = as_dialled(target.host)
    assert seen_by_others(target.url) == {(target.scheme, host, target.port)}
    # IPv6 is written in many ways: as given, only its value has to be the same
    if ":" not in target.host:
        assert seen_by_others(url) == {(target.scheme, host, target.port)}


@BUDGET
@given(urls)
def test_what_is_dialled_and_sent_is_what_was_read(url: str) -> None:
    """The fetcher hands the URL to yarl as already encoded: it must keep every byte."""
    target = read(url)
    if target is None:
        return
    dialled = URL(target.url, encoded=True)
    assert (dialled.scheme, dialled.raw_host, dialled.port) == target.origin
    netloc_end = target.url.index("/", len(target.scheme) + 3)
    assert dialled.raw_path_qs in {target.url[netloc_end:], target.url[netloc_end:].removesuffix("?")}
    assert target.url.isascii()


@BUDGET
@given(urls)
def test_what_is_read_reads_the_same_again(url: str) -> None:
    target = read(url)
    assert target is None or read(target.url) == target
