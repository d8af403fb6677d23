"""Runs schemathesis against a gateway, with our own OpenAPI document as its only source."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = Path(__file__).parent / "schemathesis.toml"
REPLACED = "positive_data_acceptance"
"""By a check of ours: `tests/fuzz/checks.py` says why."""


def fuzz(
    base_url: str, *, key: str, examples: int, seed: int | None, directory: Path
) -> subprocess.CompletedProcess[str]:
    """Every check and phase that schemathesis has: `examples` for each operation, from a seed or a new one. What it
    notes goes into the directory.
    """
    argv = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG)]
    argv += ["run", f"{base_url}/openapi.json", "--no-color"]
    argv += ["--header", f"Authorization: Bearer {key}", "--max-examples", str(examples)]
    argv += ["--checks", "all", "--exclude-checks", REPLACED, "--generation-database", "none"]
    argv += ["--seed", str(seed)] if seed is not None else []
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.fuzz.checks", "PYTHONPATH": str(ROOT)}
    return subprocess.run(argv, cwd=directory, env=environment, capture_output=True, text=True, check=False)
