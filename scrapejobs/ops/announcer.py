"""Each process says that it lives, with what capacity (FR-13)."""

import os
import socket
from uuid import UUID

from scrapejobs.adapters.bus import Bus
from scrapejobs.store import services
from scrapejobs.store.link import Link


class Announcer:
    """The heartbeat of a process. Nothing is derived from it but demand and a view for people (case S10)."""

    name = "announcer"
    wakes_on = frozenset({"announce"})

    def __init__(
        self, link: Link, bus: Bus, *, service_id: UUID, role: str, name: str, slots: int, heartbeat_s: float
    ) -> None:
        self._link = link
        self._bus = bus
        self._service_id = service_id
        self._role = role
        self._name = name
        self._slots = slots
        self._heartbeat_s = heartbeat_s
        self._said: bool | None = None
        self.is_draining = False

    async def tick(self) -> float:
        await self._link.run(
            services.announce(
                self._service_id,
                role=self._role,
                name=self._name,
                hostname=socket.gethostname(),
                pid=os.getpid(),
                slots=self._slots,
                draining=self.is_draining,
            )
        )
        if self._slots and self._said is not self.is_draining:
            self._said = self.is_draining
            await self._bus.wake("queued")  # the dispatcher counts slots anew
        return self._heartbeat_s

    async def leave(self) -> None:
        await self._link.run(services.leave(self._service_id))
