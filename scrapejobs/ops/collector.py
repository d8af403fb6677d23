"""The gauges that come from rows and leases, as metrics (FR-13, case S18). The scheduler role alone exports them."""

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import psycopg
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from scrapejobs.store import gauges

CACHED_S: Final = 1.0
"""For how long a reading is shown again, so that many who scrape cost no more than one."""


@dataclass(frozen=True, slots=True)
class RowGauge:
    """One metric. Its statement has its name, without the prefix."""

    name: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """The name that `store.gauges` reads it by."""
        return self.name.removeprefix("scrapejobs_")

    def family(self) -> GaugeMetricFamily:
        """The metric without samples."""
        return GaugeMetricFamily(self.name, self.help, labels=self.labels)


ROW_GAUGES: Final = (
    RowGauge(
        "scrapejobs_oldest_queued_seconds",
        "How long the job that waits longest for its next attempt has waited.",
        ("queue",),
    ),
    RowGauge(
        "scrapejobs_queue_depth",
        "Unfinished jobs, by queue and by the place that holds them.",
        ("queue", "place"),
    ),
    RowGauge("scrapejobs_tenant_queued", "Jobs queued, of the twenty tenants with the most.", ("tenant",)),
    RowGauge("scrapejobs_host_queued", "Jobs queued, at the twenty hosts with the most.", ("host",)),
    RowGauge(
        "scrapejobs_oldest_runnable_seconds",
        "How long the oldest queued job has waited that no pause, circuit or crowded host holds back.",
    ),
    RowGauge("scrapejobs_leases_expired", "Jobs that run past their lease."),
    RowGauge(
        "scrapejobs_outbox_lag_seconds",
        "How long the next row of an outbox has waited.",
        ("outbox",),
    ),
    RowGauge("scrapejobs_workers_live", "Workers that were heard of lately."),
    RowGauge("scrapejobs_slots", "Slots in use, and slots that live workers have left.", ("state",)),
    RowGauge(
        "scrapejobs_partitions_ahead_days",
        "Days after today for which the partitions are there.",
    ),
)


class RowGauges(Collector):
    """Reads every `RowGauge` when scraped, on a connection of its own.

    What cannot be read is left out rather than shown as it was: a gauge that is absent says that nobody knows. A lost
    connection is opened again at the next scrape.
    """

    def __init__(self, database_url: str, *, alive_s: float) -> None:
        self._url = database_url
        self._alive_s = alive_s
        self._conn: gauges.Connection | None = None
        self._turn = threading.Lock()
        self._read_at = float("-inf")
        self._reading: list[GaugeMetricFamily] = []

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The names, without a look at the database: registering must not need one."""
        return [gauge.family() for gauge in ROW_GAUGES]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The gauges as they are now, or as they were within the last second."""
        with self._turn:
            if time.monotonic() - self._read_at >= CACHED_S:
                self._reading = list(self._read())
                self._read_at = time.monotonic()
            return self._reading

    def close(self) -> None:
        """Gives the connection back."""
        with self._turn:
            self._drop()

    def _read(self) -> Iterator[GaugeMetricFamily]:
        for gauge in ROW_GAUGES:
            try:
                yield self._family(gauge)
            except psycopg.errors.QueryCanceled:
                continue
            except psycopg.Error:
                self._drop()
                return

    def _family(self, gauge: RowGauge) -> GaugeMetricFamily:
        if self._conn is None:
            self._conn = gauges.connect(self._url)
        family = gauge.family()
        for row in gauges.read(self._conn, gauge.statement, alive_s=self._alive_s):
            family.add_metric([row[label] for label in gauge.labels], row["value"])
        return family

    def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.close()
