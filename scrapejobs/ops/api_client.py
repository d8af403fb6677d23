"""The product's own API, used as any client uses it: `manage.py scrape` (FR-1, FR-4, FR-8)."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final

import requests

CONNECT_S: Final = 5.0
READ_S: Final = 60.0
POLL_S: Final = 0.5
CHUNK: Final = 64 * 1024
_UNPROCESSABLE: Final = (400, 422)


class ApiError(Exception):
    """The API did not do what was asked; `is_callers_fault` when the request itself is wrong."""

    def __init__(self, text: str, *, is_callers_fault: bool = False) -> None:
        super().__init__(text)
        self.is_callers_fault = is_callers_fault


def direct_session() -> requests.Session:
    """A session that asks no proxy and reads no .netrc: those of the environment are not meant for our own stack."""
    session = requests.Session()
    session.trust_env = False
    return session


class ApiClient:
    """One tenant's view of the service at `url`. Every method raises `ApiError`."""

    def __init__(self, url: str, *, key: str) -> None:
        self._url = url.rstrip("/")
        self._session = direct_session()
        self._session.headers["Authorization"] = f"Bearer {key}"

    def submit(self, url: str, *, priority: str) -> dict[str, Any]:
        """Hands a job in; its receipt."""
        return self._call("POST", "/jobs", json={"url": url, "priority": priority})

    def job(self, job_id: str) -> dict[str, Any]:
        """The job as it is now."""
        return self._call("GET", f"/jobs/{job_id}")

    def wait(self, job_id: str) -> dict[str, Any]:
        """The job as it is after `POLL_S`: what one who waits for it calls again and again."""
        time.sleep(POLL_S)
        return self.job(job_id)

    def result(self, job_id: str) -> dict[str, Any]:
        """Where the result is: a signed link, size, type and hash."""
        return self._call("GET", f"/jobs/{job_id}/result")

    def download(self, link: str) -> Iterator[bytes]:
        """The bytes behind a signed link, which takes no key."""
        try:
            with direct_session() as session, session.get(link, stream=True, timeout=(CONNECT_S, READ_S)) as answer:
                if not answer.ok:
                    raise ApiError(f"the object store answered {answer.status_code}")
                yield from answer.iter_content(CHUNK)
        except requests.RequestException as error:
            raise ApiError(f"the result could not be read: {type(error).__name__}") from None

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            answer = self._session.request(method, self._url + path, timeout=(CONNECT_S, READ_S), **options)
            body: dict[str, Any] = answer.json()
        except requests.JSONDecodeError:
            raise ApiError(f"{self._url} does not speak this API (status {answer.status_code})") from None
        except requests.RequestException as error:
            raise ApiError(f"no API answers at {self._url} ({type(error).__name__}); `make up` starts one") from None
        if not answer.ok:
            raise ApiError(_told(body), is_callers_fault=answer.status_code in _UNPROCESSABLE)
        return body


def _told(problem: dict[str, Any]) -> str:
    """A problem in one line (RFC 9457)."""
    mistakes = [f"{error.get('pointer')}: {error.get('detail')}" for error in problem.get("errors", ())]
    texts = [problem.get("title", ""), *(mistakes or [problem.get("detail", "")])]
    return "; ".join(text for text in texts if text) or json.dumps(problem)
