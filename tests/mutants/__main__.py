"""Takes each safeguard out of a copy of the code and runs the tests that must notice: `python -m tests.mutants [WORD]`.

Exit status 1 when a test stays green without its safeguard. A word narrows it to the rows that have that word.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.table import ROOT, Safeguard, safeguards

TESTS_FAILED = 1  # pytest's status; another (no such test) shows nothing
BROKEN = re.compile(r"SyntaxError|Undefined|NameError|IndentationError")  # nor does a mutant that cannot run at all


def main(words: list[str]) -> int:
    chosen = [safeguard for safeguard in safeguards() if all(word.lower() in str(safeguard).lower() for word in words)]
    with tempfile.TemporaryDirectory(prefix="scrapejobs-mutants-") as directory:
        copy = Path(directory) / "copy"
        _copy_to(copy)
        outcomes = [_show(safeguard, copy) for safeguard in chosen]
    print(f"{sum(outcomes)} of {len(outcomes)} safeguards are held by their tests")
    return 0 if outcomes and all(outcomes) else 1


def _copy_to(copy: Path) -> None:
    """The files that git knows or would: no caches, no data."""
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)


def _show(safeguard: Safeguard, copy: Path) -> bool:
    """Whether each of its tests goes red, and how; one line each."""
    file, held = copy / safeguard.file, True
    source = file.read_text()
    file.write_text(safeguard.mutant(source))
    for test in safeguard.red:
        began = time.monotonic()
        argv = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", test]
        done = subprocess.run(argv, cwd=copy, capture_output=True, text=True, check=False)
        why = _why(done.stdout)
        is_red = done.returncode == TESTS_FAILED and not BROKEN.search(why)
        held &= is_red
        print(f"{'red' if is_red else 'NOT RED':8}{time.monotonic() - began:6.1f} s  {safeguard.name}", flush=True)
        print(f"{'':18}{test}\n{'':18}{why[:160]}", flush=True)
    file.write_text(source)
    return held


def _why(output: str) -> str:
    """The first line of the failure's reason."""
    return next((line[1:].strip() for line in output.splitlines() if line.startswith("E ")), "(it passed)")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
