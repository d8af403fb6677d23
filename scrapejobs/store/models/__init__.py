"""Every table of the product, one model a file. State changes go through `store.transitions`, never `save()`."""

from scrapejobs.store.models.api_key import ApiKey
from scrapejobs.store.models.attempt import Attempt
from scrapejobs.store.models.circuit import Circuit, CircuitChange
from scrapejobs.store.models.dead_letter import DeadLetter
from scrapejobs.store.models.delivery import Delivery
from scrapejobs.store.models.depth import Depth
from scrapejobs.store.models.dispatcher import Dispatcher
from scrapejobs.store.models.endpoint import Endpoint
from scrapejobs.store.models.event import Event
from scrapejobs.store.models.host import Host
from scrapejobs.store.models.job import Job
from scrapejobs.store.models.opt_out import OptOut
from scrapejobs.store.models.places import Delayed, Lease, Queued, Ready
from scrapejobs.store.models.receipt import Receipt
from scrapejobs.store.models.service import Service
from scrapejobs.store.models.tenant import Tenant
from scrapejobs.store.models.usage import Usage

__all__ = [
    "ApiKey",
    "Attempt",
    "Circuit",
    "CircuitChange",
    "DeadLetter",
    "Delayed",
    "Delivery",
    "Depth",
    "Dispatcher",
    "Endpoint",
    "Event",
    "Host",
    "Job",
    "Lease",
    "OptOut",
    "Queued",
    "Ready",
    "Receipt",
    "Service",
    "Tenant",
    "Usage",
]
