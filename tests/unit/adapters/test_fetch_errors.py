"""Failures told by type: a fault of this machine is never laid at the target's door."""

import errno

import pytest

from scrapejobs.adapters.fetch_errors import failure_of
from scrapejobs.adapters.guard import Dial
from scrapejobs.domain.addresses import Verdict


@pytest.mark.req("FR-7")
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.EIO])
def test_a_fault_of_this_machine_is_the_workers(number: int) -> None:
    assert failure_of(OSError(number, "no"), Dial()).code == "worker_error"


@pytest.mark.req("FR-7")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ECONNREFUSED, "connection_refused"),
        (errno.ECONNRESET, "connection_reset"),
        (errno.EPIPE, "connection_reset"),
        (errno.EHOSTUNREACH, "unreachable"),
        (errno.ETIMEDOUT, "timeout"),
    ],
)
def test_an_operating_systems_error_has_one_code(number: int, code: str) -> None:
    assert failure_of(OSError(number, "no"), Dial()).code == code


@pytest.mark.case("target-34")
@pytest.mark.req("NFR-11")
def test_a_blocked_address_is_told_whatever_the_client_made_of_it() -> None:
    dial = Dial()
    dial.blocked = Verdict.DENY_METADATA
    assert failure_of(OSError("Multiple exceptions"), dial).code == "blocked_address"
