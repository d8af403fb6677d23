"""Where a redirect leads and how the next request is made (RFC 9110, section 15.4; RFC 3986, section 5).

References are resolved here and not by `urllib.parse.urljoin`, which drops empty path segments and an empty query.
"""

import re

from scrapejobs.domain.target import InvalidUrl, Target

REDIRECTS = frozenset({301, 302, 303, 307, 308})

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Bytes that no URL may hold, yet servers send: space, quotes, brackets, and all above ASCII.
_ESCAPED = re.compile(rb'[ "<>^`{|}\x80-\xff]')
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


def follow_location(base: Target, location: bytes) -> str:
    """The URL that a Location header names, each legal byte of it as it came; to be parsed like any new URL.

    Raises `InvalidUrl` when it is empty or holds a control character.
    """
    if not location or _CONTROL.search(location):
        raise InvalidUrl("the redirect has no valid Location")
    text = _readable(location).partition("#")[0]
    origin_end = base.url.index("/", len(base.scheme) + len("://"))
    origin, base_path = base.url[:origin_end], base.url[origin_end:].partition("?")[0]
    if _SCHEME.match(text):
        return text
    if text.startswith("//"):
        return f"{base.scheme}:{text}"
    if text.startswith("/"):
        return origin + text
    if text.startswith("?"):
        return origin + base_path + text
    if not text:
        return base.url
    path, mark, query = text.partition("?")
    merged = base_path[: base_path.rindex("/") + 1] + path
    return origin + _without_dot_segments(merged) + mark + query


def next_method(method: str, status: int) -> str:
    """The method after a redirect: 303 makes all but HEAD a GET, 301 and 302 only POST, 307 and 308 none."""
    if (status == 303 and method != "HEAD") or (status in {301, 302} and method == "POST"):  # noqa: PLR2004
        return "GET"
    return method


def _without_dot_segments(path: str) -> str:
    """RFC 3986, section 5.2.4, for a path that begins with a slash."""
    segments = path.split("/")[1:]
    kept: list[str] = []
    for segment in segments:
        if segment == ".." and kept:
            kept.pop()
        elif segment not in {".", ".."}:
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)


def _readable(location: bytes) -> str:
    """UTF-8 stays text, so that a host in it can be read by IDNA; other bytes are percent-encoded."""
    escaped = _ESCAPED.sub(lambda match: b"%%%02X" % match[0][0], location)
    try:
        text = location.decode("utf-8")
    except UnicodeDecodeError:
        return escaped.decode("ascii")
    return "".join(c if not c.isascii() or c.encode() not in b' "<>^`{|}' else f"%{ord(c):02X}" for c in text)
