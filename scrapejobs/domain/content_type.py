"""The Content-Type header, read for what is safe to store (RFC 9110, section 8.3), and how a result is handed out."""

import re
from urllib.parse import quote

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA_TYPE = re.compile(rf"[ \t]*({_NAME}/{_NAME})[ \t]*(?:;|$)")
_CHARSET = re.compile(r";[ \t]*charset=\"?([0-9A-Za-z_.:+-]{1,40})\"?[ \t]*(?:;|$)", re.IGNORECASE)
_LONGEST = 255
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
MARK_BYTES = 3


def parse_content_type(value: str) -> tuple[str | None, str | None]:
    """Media type and charset in lower case, each None when absent or malformed. The charset is not judged."""
    media_type = _MEDIA_TYPE.match(value[:_LONGEST])
    charset = _CHARSET.search(value[:_LONGEST])
    return media_type and media_type[1].lower(), charset and charset[1].lower()


def charset_of_mark(start: bytes) -> str | None:
    """The charset that a byte order mark at the start of a body says; it is surer than a header (Encoding Standard,
    section 6). None without one.
    """
    return next((charset for mark, charset in _MARKS if start.startswith(mark)), None)


def attachment(filename: str) -> str:
    """A Content-Disposition (RFC 6266): a plain name for old readers and the exact one in UTF-8."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
