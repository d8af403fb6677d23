"""Every fault by name."""

from collections.abc import Mapping

from tests.chaos import failpoints, machine_faults, role_faults, server_faults
from tests.chaos.fault import Fault

CATALOGUE: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (*role_faults.FAULTS, *server_faults.FAULTS, *failpoints.FAULTS, *machine_faults.FAULTS)
}
LEFT_OUT: Mapping[str, str] = machine_faults.LEFT_OUT
"""What this machine cannot show, and why not."""
