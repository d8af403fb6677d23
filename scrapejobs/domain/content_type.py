"""The Content-Type header, read for what is safe to store (RFC 9110, section 8.3)."""

import re

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA_TYPE = re.compile(rf"[ \t]*({_NAME}/{_NAME})[ \t]*(?:;|$)")
_CHARSET = re.compile(r";[ \t]*charset=\"?([0-9A-Za-z_.:+-]{1,40})\"?[ \t]*(?:;|$)", re.IGNORECASE)
_LONGEST = 255


def parse_content_type(value: str) -> tuple[str | None, str | None]:
    """Media type and charset in lower case, each None when absent or malformed. The charset is not judged."""
    media_type = _MEDIA_TYPE.match(value[:_LONGEST])
    charset = _CHARSET.search(value[:_LONGEST])
    return media_type and media_type[1].lower(), charset and charset[1].lower()
