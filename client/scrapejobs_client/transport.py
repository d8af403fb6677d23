"""One call of the API: connection, key, time limits, repeats, and problems as exceptions."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import NewConnectionError

from scrapejobs_client.errors import ApiError, Mistake, Problem, UnreachableError
from scrapejobs_client.pauses import Pauses, retry_after_s

CONNECT_S: Final = 5.0
POOL: Final = 16
JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
AGAIN: Final = frozenset({408, 429, 502, 503, 504})
"""The service, or a proxy before it, cannot answer now: another time it may."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request, with a body of `json`, or of `lines` of JSON, which are answered with lines. `is_repeatable`: it does
    no harm when it arrives twice.
    """

    method: str
    path: str
    params: Mapping[str, str] | None = None
    json: Any = None
    lines: bytes | None = None
    headers: Mapping[str, str] | None = None
    held_s: float = 0.0
    is_repeatable: bool = True

    @property
    def media_type(self) -> str:
        """Of the body and of a good answer."""
        return JSON if self.lines is None else LINES


class Bearer(AuthBase):
    """Puts the key on a request. As an `auth` it also keeps requests from looking for another one in .netrc."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key is not None:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def new_session(url: str, *, key: str | None, user_agent: str) -> requests.Session:
    """A session for the server at `url`. The proxies of the environment are used, but not to reach this machine."""
    session = requests.Session()
    session.auth = Bearer(key)
    session.headers["User-Agent"] = user_agent
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.trust_env = not is_loopback(urlsplit(url).hostname or "")
    adapter = HTTPAdapter(pool_connections=POOL, pool_maxsize=POOL)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Transport:
    """Calls the API at `base_url`. May be shared by threads. Every call raises `ApiError` or `UnreachableError`."""

    def __init__(self, base_url: str, key: str, *, timeout_s: float, retry_for_s: float, user_agent: str) -> None:
        self.base_url = _checked_url(base_url)
        self._session = new_session(self.base_url, key=_checked_key(key), user_agent=user_agent)
        self._timeout_s = timeout_s
        self.retry_for_s = retry_for_s

    def close(self) -> None:
        self._session.close()

    def ask(self, call: Call) -> Any:
        """The JSON of the answer."""
        return json_of(self.call(call))

    def call(self, call: Call) -> requests.Response:
        """The answer, a good one. Repeats the call while that may help and does no harm."""
        pauses = Pauses(self.retry_for_s)
        while True:
            failure: ApiError | UnreachableError
            try:
                return _good(self._send(call), call.media_type)
            except requests.RequestException as error:
                failure, asked = self._unreachable(error), None
                may_repeat = call.is_repeatable or _never_left(error)
            except ApiError as error:
                failure, asked = error, error.retry_after_s
                may_repeat = error.status in AGAIN and (call.is_repeatable or error.status == requests.codes.too_many)
            rest_s = pauses.next_s(asked) if may_repeat else None
            if rest_s is None:
                raise failure from None
            time.sleep(rest_s)

    def _send(self, call: Call) -> requests.Response:
        return self._session.request(
            call.method,
            self.base_url + call.path,
            params=call.params,
            json=call.json,
            data=call.lines,
            headers={
                "Accept": call.media_type,
                **({"Content-Type": LINES} if call.lines else {}),
                **(call.headers or {}),
            },
            timeout=(CONNECT_S, self._timeout_s + call.held_s),
            allow_redirects=False,
        )

    def _unreachable(self, error: requests.RequestException) -> UnreachableError:
        return UnreachableError(f"no answer from {self.base_url} ({type(error).__name__})")


def _good(answer: requests.Response, media_type: str) -> requests.Response:
    """The answer if it is a good one of this API. Raises `ApiError`."""
    kind = answer.headers.get("Content-Type", "").partition(";")[0]
    if answer.ok and answer.status_code < requests.codes.multiple_choices and kind == media_type:
        return answer
    if kind == "application/problem+json":
        problem = problem_of(json_of(answer))
    elif answer.status_code in AGAIN:
        problem = Problem("unavailable", answer.status_code, detail=f"status {answer.status_code} of a proxy")
    else:
        detail = f"status {answer.status_code}, {kind or 'no content type'}: is this the address of the API?"
        problem = Problem("not-this-api", answer.status_code, detail=detail)
    raise ApiError(
        problem,
        retry_after_s=retry_after_s(answer.headers.get("Retry-After")),
        request_id=answer.headers.get("X-Request-Id"),
    )


def json_of(answer: requests.Response) -> Any:
    """The body. Raises `ApiError` for one that is no JSON."""
    return _decoded(answer.content, answer)


def lines_of(answer: requests.Response) -> list[Any]:
    """The lines of a body. Raises `ApiError` for one that is no JSON."""
    return [_decoded(line, answer) for line in answer.content.split(b"\n") if line]


def _decoded(text: bytes, answer: requests.Response) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ApiError(Problem("not-this-api", answer.status_code, detail="the answer is no JSON")) from None


def problem_of(raw: Mapping[str, Any]) -> Problem:
    """A problem as the API tells it."""
    return Problem(
        name=str(raw.get("type", "about:blank")).rpartition("/")[2],
        status=int(raw.get("status", 0)),
        title=raw.get("title", ""),
        detail=raw.get("detail", ""),
        errors=tuple(_mistake_of(error) for error in raw.get("errors", ())),
    )


def _mistake_of(raw: Mapping[str, str]) -> Mistake:
    return Mistake(raw.get("pointer", ""), raw.get("code", ""), raw.get("detail", ""))


def _never_left(error: requests.RequestException) -> bool:
    """Whether no connection was made, so that nothing can have been done."""
    if isinstance(error, requests.ConnectTimeout):
        return True
    cause = error.args[0] if error.args else None
    return isinstance(getattr(cause, "reason", None), NewConnectionError)


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"not the address of an API: {url!r}; it looks like http://127.0.0.1:8000")
    return url.rstrip("/")


def _checked_key(key: str) -> str:
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("not an API key; it looks like sj_<id>_<secret>")
    return key
