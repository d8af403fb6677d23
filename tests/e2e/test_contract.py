"""The contract that the gateway serves is the one that it keeps (FR-1): requests made from it, right and wrong ones."""

import os
from pathlib import Path

import pytest

from tests.e2e.service import Service
from tests.fuzz.contract import fuzz

# `make fuzz` asks for more examples, and for other ones each time.
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "10"))
SEED = None if "FUZZ_EXAMPLES" in os.environ else 1

NO_LIMITS = {f"SCRAPEJOBS_{whose}_{what}": "1000000" for whose in ("API", "STRANGER") for what in ("RATE", "BURST")}


@pytest.mark.req("FR-1")
def test_the_gateway_keeps_its_contract_whatever_is_asked(service: Service, tmp_path: Path) -> None:
    service.wait_ready(service.start("gateway", **NO_LIMITS))
    url = f"http://127.0.0.1:{service.port}"
    done = fuzz(url, key=service.key("acme"), examples=EXAMPLES, seed=SEED, directory=tmp_path)
    told = "\n".join(line[:500] for line in done.stdout.splitlines())
    assert done.returncode == 0, told + done.stderr[-2000:]
    assert "Operations:" in done.stdout
    assert service.rows("SELECT count(*) > 0 FROM job") == [(True,)]
