"""Every fault by name."""

from collections.abc import Mapping

from tests.chaos import role_faults
from tests.chaos.fault import Fault

CATALOGUE: Mapping[str, Fault] = {fault.name: fault for fault in (*role_faults.FAULTS,)}
