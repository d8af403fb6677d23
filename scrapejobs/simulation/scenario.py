"""What is simulated: tenants, hosts, slots, and when jobs come in. Read from TOML; times are seconds from the start."""

import tomllib
from collections.abc import Mapping
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import replace

from scrapejobs.domain.picking import HostLimits, TenantShare
from scrapejobs.simulation.expectations import Expectation

SHIPPED: Final = Path(__file__).parent / "scenarios"
"""The scenarios that come with the product, by the names of their files."""

EVERY_OTHER: Final = "*"
"""The name of the host whose settings hold for all that are not named."""

Priority = Literal["high", "normal", "low"]
Above0 = Annotated[float, Meta(gt=0, le=1e9)]
AtLeast0 = Annotated[float, Meta(ge=0, le=1e9)]
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Pair = Annotated[list[Above0], Meta(min_length=2, max_length=2)]  # msgspec 0.23 misreads a tuple beside a bounded float


class ScenarioError(Exception):
    """A scenario that cannot be read or makes no sense; the text says where."""


class TenantSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One tenant, or `count` alike: the tenants `NAME-1` to `NAME-count`."""

    weight: Above0 = 1.0
    max_running: Count | None = None
    count: Count | None = None

    @property
    def share(self) -> TenantShare:
        return TenantShare(weight=self.weight, max_running=self.max_running)


class HostSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One host, or `count` alike: its limits and how it answers.

    `seconds`: how long an attempt takes, fixed or drawn evenly between two. Of all attempts the share `failures` is
    answered 503, and the share `limited` 429 with `retry_after` seconds.
    """

    rate: Above0 | None = None
    burst: Annotated[float, Meta(ge=1)] = 1.0
    concurrency: Count | None = None
    seconds: Above0 | Pair = 1.0
    failures: Share = 0.0
    limited: Share = 0.0
    retry_after: Above0 | None = None
    count: Count | None = None

    @property
    def limits(self) -> HostLimits:
        return HostLimits(rate=self.rate, burst=self.burst, concurrency=self.concurrency)


class Arrivals(Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs that come in: `jobs` at once at `at`; or from `at` to `until` one `every` so many seconds, or `per_s` a
    second on average, as a Poisson process; or as a `csv` file says, with the columns at, tenant, priority and host.

    Each tenant of a group hands in as many; the jobs go to the hosts of a group in turn.
    """

    tenant: str = ""
    host: str = ""
    priority: Priority = "normal"
    at: AtLeast0 = 0.0
    until: Above0 | None = None
    jobs: Count | None = None
    every: Above0 | None = None
    per_s: Above0 | None = None
    csv: str | None = None


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """A day to be lived in a second. Without `duration` it goes on until nothing more happens.

    `order`: the product's own, or for comparison strictly by `arrival` or by `priority`; those two know no limits.
    """

    title: str
    slots: Count
    arrivals: list[Arrivals]
    duration: Above0 | None = None
    seed: int = 1
    order: Literal["product", "arrival", "priority"] = "product"
    max_attempts: Count = 5
    tenants: dict[str, TenantSettings] = {}
    hosts: dict[str, HostSettings] = {}
    expect: list[Expectation] = []
    folder: str = "."

    @property
    def end(self) -> float:
        return inf if self.duration is None else self.duration

    def tenant(self, name: str) -> TenantSettings:
        """The settings of one tenant, perhaps one of a group."""
        found = self.tenants.get(name) or self.tenants.get(group_of(name))
        return found or TenantSettings()

    def host(self, name: str) -> HostSettings:
        """The settings of one host, perhaps one of a group."""
        found = self.hosts.get(name) or self.hosts.get(group_of(name)) or self.hosts.get(EVERY_OTHER)
        return found or HostSettings()


def group_of(name: str) -> str:
    """The group of which `name` would be a member: `NAME-3` is one of NAME."""
    return name.rpartition("-")[0]


def members(name: str, settings: TenantSettings | HostSettings | None) -> list[str]:
    """The tenants or hosts that `name` stands for: itself, or those of the group."""
    if settings is None or settings.count is None:
        return [name]
    return [f"{name}-{number}" for number in range(1, settings.count + 1)]


def shipped() -> list[str]:
    """The names of the shipped scenarios."""
    return sorted(file.stem for file in SHIPPED.glob("*.toml"))


def read(name_or_file: str) -> Scenario:
    """A shipped scenario by its name, or a file of the user's own. ScenarioError says what is wrong with it."""
    path = SHIPPED / f"{name_or_file}.toml" if name_or_file in shipped() else Path(name_or_file)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ScenarioError(f"{name_or_file} is no shipped scenario, and as a file: {reason}") from None
    return parse(text, folder=path.parent)


def changed(
    scenario: Scenario,
    *,
    seed: int | None = None,
    slots: int | None = None,
    weights: Mapping[str, float] = MappingProxyType({}),
    rates: Mapping[str, float | None] = MappingProxyType({}),
) -> Scenario:
    """The same with another seed, other slots, weights of tenants and rates of hosts, as far as they are given; a group
    changes as a whole. ScenarioError for a name that is not in it.
    """
    tenants = {**scenario.tenants}
    for name, weight in weights.items():
        _must_be_in(name, "tenant", {*tenants, *(arrivals.tenant for arrivals in scenario.arrivals)})
        tenants[name] = replace(tenants.get(name) or scenario.tenant(name), weight=weight)
    hosts = {**scenario.hosts}
    for name, rate in rates.items():
        _must_be_in(name, "host", {*hosts, *(arrivals.host for arrivals in scenario.arrivals)})
        hosts[name] = replace(hosts.get(name) or scenario.host(name), rate=rate)
    other = replace(
        scenario,
        seed=scenario.seed if seed is None else seed,
        slots=scenario.slots if slots is None else slots,
        tenants=tenants,
        hosts=hosts,
    )
    if problem := _problem_of_order(other):
        raise ScenarioError(problem)
    return other


def _must_be_in(name: str, kind: str, names: set[str]) -> None:
    if name not in names:
        raise ScenarioError(f"there is no {kind} {name!r} in it")


def parse(text: str, *, folder: Path = Path()) -> Scenario:
    """A scenario from TOML; CSV files are looked for in `folder`. ScenarioError says what is wrong with it."""
    try:
        scenario = convert({**tomllib.loads(text), "folder": str(folder)}, Scenario)
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ScenarioError(str(error)) from None
    for number, arrivals in enumerate(scenario.arrivals, start=1):
        if problem := _problem_of(arrivals, scenario):
            raise ScenarioError(f"arrivals {number}: {problem}")
    if problem := _problem_of_order(scenario):
        raise ScenarioError(problem)
    return scenario


def _problem_of(arrivals: Arrivals, scenario: Scenario) -> str | None:
    kinds = [arrivals.jobs, arrivals.every, arrivals.per_s, arrivals.csv]
    if sum(kind is not None for kind in kinds) != 1:
        return "say one of jobs, every, per_s and csv"
    if arrivals.csv is None and not (arrivals.tenant and arrivals.host):
        return "say tenant and host"
    if (arrivals.every or arrivals.per_s) and arrivals.until is None and scenario.duration is None:
        return "say until when, or the scenario's duration"
    return None


def _problem_of_order(scenario: Scenario) -> str | None:
    has_limits = any(t.max_running or t.weight != 1 for t in scenario.tenants.values()) or any(
        h.rate or h.concurrency or h.limited for h in scenario.hosts.values()
    )
    if scenario.order != "product" and has_limits:
        return f"the order by {scenario.order} knows no weights and no limits"
    return None
