"""What happened in one round, as plain data: what clients were told, what the database and the object store hold, what
the target and the receiver saw, what was done to the service. Times are Unix seconds of one machine.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Asked:
    """One answer to a client. `at`: when it was there."""

    what: Literal["submit", "cancel", "requeue"]
    result: Literal["ok", "fail", "unknown"]
    at: float
    job_id: str | None = None
    key: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A row of `job`. `key` is the client's Idempotency-Key, which is also the job's tag."""

    id: str
    key: str
    path: str
    created_at: float
    has_callback: bool = False
    final: str | None = "succeeded"
    code: str | None = None
    finished_at: float | None = None
    result_key: str | None = None
    result_size: int | None = None
    result_sha256: str | None = None
    n_charged: int = 1
    is_told: bool = True


@dataclass(frozen=True, slots=True)
class Attempt:
    """A row of `attempt`."""

    job_id: str
    number: int
    worker: str
    started_at: float
    finished_at: float
    outcome: str = "stored"
    is_charged: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    id: str
    job_id: str


@dataclass(frozen=True, slots=True)
class Object:
    """An object as the store lists it."""

    key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One request at the target. `ended_at` and `how` None: the exchange goes on."""

    host: str
    path: str
    at: float
    ended_at: float | None = None
    how: Literal["answered", "cut", "closed"] | None = "answered"


@dataclass(frozen=True, slots=True)
class Call:
    """One call at the receiver. `status` None: it was not answered."""

    event_id: str | None
    job_id: str | None
    is_valid: bool = True
    status: int | None = 200


@dataclass(frozen=True, slots=True)
class Deed:
    """Something done to the service: `kill`, `term`, `freeze`, `heal`, ... `label` names the member it was done to."""

    what: str
    at: float
    label: str | None = None


@dataclass(frozen=True, slots=True)
class History:
    """All of one round. `left`: places that still hold a final job, in words; `crashes`: deaths that nobody asked for,
    and what a fault itself found; `under_load`: when the load was on, from and to. What a host bears: see `Layout`; the
    last four: see `Fault`.
    """

    asked: tuple[Asked, ...] = ()
    jobs: tuple[Job, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    events: tuple[Event, ...] = ()
    objects: tuple[Object, ...] = ()
    hits: tuple[Hit, ...] = ()
    calls: tuple[Call, ...] = ()
    deeds: tuple[Deed, ...] = ()
    given_up: frozenset[str] = frozenset()
    left: tuple[str, ...] = ()
    crashes: tuple[str, ...] = ()
    under_load: tuple[float, float] = (0.0, 0.0)
    host_slots: int = 8
    host_rate: float = 1000.0
    host_burst: float = 1000.0
    pauses_at_most_s: float | None = None
    recovers_within_s: float | None = None
    loses_no_attempt: bool = False
    is_quiet: bool = False
