"""The composition root: which role runs which loops, and with what. The only place that hands settings out."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

import psycopg

from scrapejobs.adapters.bus import Bus
from scrapejobs.adapters.endpoints import egress_policy
from scrapejobs.adapters.fetcher import Fetcher, FetchLimits
from scrapejobs.adapters.robots import Robots
from scrapejobs.adapters.robots_cache import RobotsCache
from scrapejobs.adapters.storage import object_store
from scrapejobs.adapters.webhook_client import WebhookClient
from scrapejobs.config import Config
from scrapejobs.domain.circuit import CircuitPolicy
from scrapejobs.domain.picking import HostLimits
from scrapejobs.domain.politeness import SEND_WITHIN_S
from scrapejobs.domain.retry import RetryPolicy
from scrapejobs.ops.announcer import Announcer
from scrapejobs.ops.health import Health
from scrapejobs.ops.loops import BACK_OFF_CAP_S, Crew, Loop, Wakes, run_crew
from scrapejobs.outbox.courier import Courier, Hands
from scrapejobs.outbox.finisher import Finisher
from scrapejobs.outbox.publisher import Publisher
from scrapejobs.scheduler.census import Census
from scrapejobs.scheduler.dispatcher import Dispatcher
from scrapejobs.scheduler.orphans import Orphans, Walk
from scrapejobs.scheduler.retention import Retention
from scrapejobs.scheduler.sweeper import Promoter, Sweeper
from scrapejobs.scheduler.term import Pace
from scrapejobs.store import transitions
from scrapejobs.store.ids import new_id
from scrapejobs.store.link import Link
from scrapejobs.store.reports import ReportVerb
from scrapejobs.store.sealing import Ring
from scrapejobs.telemetry import events
from scrapejobs.worker.claimer import Claimer
from scrapejobs.worker.lease_keeper import LeaseClock, LeaseKeeper
from scrapejobs.worker.opt_outs import OptOuts
from scrapejobs.worker.permits import Permits
from scrapejobs.worker.reporter import Reporter
from scrapejobs.worker.runner import FetchRunner, Runner
from scrapejobs.worker.slots import Slots

LEAVE_S: Final = 2.0


@dataclass(slots=True)
class Surroundings:
    """What a role is built from. Links that it makes are closed at the end."""

    config: Config
    name: str
    slots: int
    wakes: Wakes = field(default_factory=Wakes)
    service_id: UUID = field(default_factory=new_id)
    links: list[Link] = field(default_factory=list)
    on_cancel: Callable[[UUID], None] | None = None
    bus: Bus = field(init=False)

    def __post_init__(self) -> None:
        self.bus = Bus(
            self.config.redis_url.get_secret_value(),
            on_wake=self.wakes.signal,
            on_cancel=self._cancelled,
            on_change=self._bus_changed,
        )

    def link(self, *, durable: bool = True) -> Link:
        link = Link(self.config.database_url.get_secret_value(), durable=durable)
        self.links.append(link)
        return link

    def announcer(self, role: str, *, slots: int = 0) -> Announcer:
        return Announcer(
            self.link(durable=False),
            self.bus,
            service_id=self.service_id,
            role=role,
            name=self.name,
            slots=slots,
            heartbeat_s=self.config.heartbeat_s,
        )

    def _bus_changed(self, connected: bool) -> None:
        self.wakes.signal_all()  # what was not heard meanwhile is looked for
        if connected:
            events.bus_up()
        else:
            events.bus_down()

    def _cancelled(self, job_id: UUID) -> None:
        if self.on_cancel is not None:
            self.on_cancel(job_id)


async def run_loops(role: str, config: Config, *, name: str, slots: int, health: Health) -> None:
    """Runs a role of loops until it is told to stop and has drained."""
    around = Surroundings(config, name, slots)
    try:
        await run_crew(ROLES[role](around), bus=around.bus, wakes=around.wakes, health=health)
    finally:
        for link in around.links:
            await link.aclose()


async def _nothing() -> None:
    return


def publisher(around: Surroundings) -> Crew:
    """The outboxes: accepted jobs into queues, final jobs into finish events."""
    poll_s = around.config.poll_s
    loops: list[Loop] = [
        Publisher(around.link(durable=False), around.bus, poll_s=poll_s),
        Finisher(around.link(), around.bus, poll_s=poll_s),
    ]
    return _crew(loops, around.announcer("publisher"))


def scheduler(around: Surroundings) -> Crew:
    """The dispatcher (one leads), the sweeper, due retries, partitions and retention, orphans, the census."""
    config, objects = around.config, object_store(around.config)
    dispatcher = _dispatcher(around)
    loops: list[Loop] = [
        dispatcher,
        Sweeper(
            around.link(),
            around.bus,
            report=report_verb(config),
            sweep_s=config.sweep_s,
            renew_s=config.renewal_s,
            recovery_s=BACK_OFF_CAP_S + config.renewal_s,
        ),
        Promoter(around.link(), around.bus, sweep_s=config.sweep_s),
        Retention(
            around.link(),
            objects,
            keep_days=config.retention_days,
            ahead_days=config.partitions_ahead_days,
            receipt_ttl_s=config.receipt_ttl_s,
            secrets_s=config.failed_secrets_s,
        ),
        Orphans(Walk(around.link(), objects, keep_days=config.retention_days, remove=True)),
        Census(around.link(durable=False)),
    ]
    return _crew(loops, around.announcer("scheduler"), hand_over=dispatcher.aclose)


def _dispatcher(around: Surroundings) -> Dispatcher:
    config = around.config
    pace = Pace(
        lease_s=config.dispatch_lease_s,
        ready_ttl_s=config.ready_ttl_s,
        alive_s=config.alive_s,
        poll_s=config.poll_s,
    )
    return Dispatcher(
        around.link(durable=False),
        around.link(),
        around.bus,
        holder=around.name,
        default=HostLimits(config.host_rate, config.host_burst, config.host_concurrency),
        circuit=CircuitPolicy(
            config.circuit_error_threshold,
            config.circuit_success_threshold,
            config.circuit_timeout_s,
            learns=config.host_rate_learns,
        ),
        pace=pace,
    )


def worker(around: Surroundings) -> Crew:
    """Claims, fetches, stores and reports, as many jobs at once as it has slots."""
    config, store = around.config, object_store(around.config)
    permits = Permits(around.link(), around.bus, signal=around.wakes.signal, ttl_s=SEND_WITHIN_S, poll_s=config.poll_s)
    opt_outs = OptOuts(around.link(durable=False))
    cache = RobotsCache(config.redis_url.get_secret_value())
    robots = Robots(cache, keep_s=config.robots_keep_s)

    async def hand_over() -> None:
        await store.close()
        await cache.aclose()

    runner = FetchRunner(
        Fetcher(fetch_limits(config), is_opted_out=opt_outs.has, robots=robots),
        store,
        permits.wait,
        Ring(config.sealing_texts),
    )
    return worker_with(runner, around, besides=[permits, opt_outs], hand_over=hand_over)


def worker_with(
    runner: Runner,
    around: Surroundings,
    *,
    besides: Sequence[Loop] = (),
    hand_over: Callable[[], Awaitable[None]] = _nothing,
) -> Crew:
    """A worker whose attempts `runner` carries out; `besides`: the loops that it needs."""
    config, slots = around.config, Slots(around.slots)
    announcer = around.announcer("worker", slots=around.slots)
    reporter = Reporter(
        around.link(),
        around.bus,
        report=report_verb(config),
        signal=around.wakes.signal,
        poll_s=config.poll_s,
    )
    keeper = LeaseKeeper(around.link(durable=False), slots, lease_s=config.lease_s, renew_s=config.renewal_s)
    around.on_cancel = keeper.cancelled
    claimer = Claimer(
        around.link(),
        slots,
        runner,
        reporter,
        worker_id=around.service_id,
        worker=around.name,
        lease_s=config.lease_s,
        poll_s=config.poll_s,
        signal=around.wakes.signal,
    )

    async def drain() -> None:
        claimer.draining = announcer.is_draining = True
        around.wakes.signal("announce")
        await claimer.drain(grace_s=config.grace_s)

    loops: list[Loop] = [claimer, reporter, keeper, LeaseClock(slots, lease_s=config.lease_s), *besides]
    return _crew(loops, announcer, drain=drain, hand_over=hand_over)


def courier(around: Surroundings) -> Crew:
    """Delivers finish events to callback URLs."""
    config = around.config
    client = WebhookClient(
        egress_policy(config),
        dns_timeout_s=config.dns_timeout_s,
        timeout_s=config.callback_timeout_s,
        user_agent=config.agent,
        proxy=config.proxy,
    )
    loop = Courier(
        around.link(),
        client.post,
        Ring(config.sealing_texts),
        hands=Hands(config.deliveries_at_once, config.callback_timeout_s, config.endpoint_off_after_s),
        poll_s=config.poll_s,
        signal=around.wakes.signal,
    )
    return _crew([loop], around.announcer("courier"), drain=partial(loop.drain, grace_s=config.grace_s))


ROLES: Final[dict[str, Callable[[Surroundings], Crew]]] = {
    "publisher": publisher,
    "scheduler": scheduler,
    "worker": worker,
    "courier": courier,
}
"""The roles made of loops. The gateway is the fifth role: it serves HTTP (`ops.gateway`)."""


def report_verb(config: Config) -> ReportVerb:
    """The one door through which attempts end, with the policy that the planner goes by."""
    policy = RetryPolicy(
        base_s=config.retry_base_s,
        cap_s=config.retry_cap_s,
        retry_after_cap_s=config.retry_after_cap_s,
        max_lost=config.max_lost,
    )
    return partial(transitions.report, policy=policy, random=random.random)


def fetch_limits(config: Config) -> FetchLimits:
    return FetchLimits(
        policy=egress_policy(config),
        proxy=config.proxy,
        dns_timeout_s=config.dns_timeout_s,
        connect_timeout_s=config.connect_timeout_s,
        max_redirects=config.max_redirects,
        max_header_bytes=config.max_header_bytes,
        max_headers=config.max_headers,
        max_headers_bytes=config.max_headers_bytes,
        min_rate_bytes_s=config.min_rate_bytes_s,
        min_rate_after_s=config.min_rate_after_s,
        user_agent=config.agent,
    )


def _crew(
    loops: Sequence[Loop],
    announcer: Announcer,
    *,
    drain: Callable[[], Awaitable[None]] = _nothing,
    hand_over: Callable[[], Awaitable[None]] = _nothing,
) -> Crew:
    async def leave() -> None:
        try:
            async with asyncio.timeout(LEAVE_S):
                await hand_over()
                await announcer.leave()
        except (psycopg.OperationalError, TimeoutError) as error:
            events.loop_failed("leave", error)  # leases and epochs end by themselves

    return Crew([*loops, announcer], drain, leave)
