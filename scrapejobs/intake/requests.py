"""The body of POST /jobs: its shape, and what a shape cannot say."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from scrapejobs.domain.target import MAX_URL_CHARS

Method = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
Seconds = Annotated[float, Meta(gt=0)]
HeaderValue = Annotated[str, Meta(max_length=8192)]
Short = Annotated[str, Meta(min_length=1, max_length=256)]
TagName = Annotated[str, Meta(min_length=1, max_length=64)]


class Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the target's answer has to be, else the job fails."""

    content_type: Short | UnsetType = UNSET
    min_bytes: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    json: bool | UnsetType = UNSET


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to fetch. Defaults and upper limits that are not here are settings."""

    method: Method = "GET"
    headers: Annotated[dict[Annotated[str, Meta(max_length=256)], HeaderValue], Meta(max_length=64)] = {}
    query: Annotated[dict[str, str], Meta(max_length=100)] = {}
    body: str | UnsetType = UNSET
    json: Any = UNSET
    timeout_s: Seconds | UnsetType = UNSET
    max_bytes: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    max_attempts: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    deadline_s: Seconds | UnsetType = UNSET
    follow_redirects: bool = True
    accept_statuses: Annotated[list[Annotated[int, Meta(ge=300, le=599)]], Meta(max_length=100)] = []
    retry_unsafe: bool = False
    robots: bool = False
    expect: Expect | UnsetType = UNSET


Url = Annotated[str, Meta(min_length=1, extra_json_schema={"format": "uri", "maxLength": MAX_URL_CHARS})]


class JobRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One job, as handed in."""

    url: Url
    params: Params = Params()
    priority: Literal["high", "normal", "low"] = "normal"
    callback_url: Url | UnsetType = UNSET
    tags: Annotated[dict[TagName, Annotated[str, Meta(max_length=256)]], Meta(max_length=16)] = {}
