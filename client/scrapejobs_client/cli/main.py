"""The command line: arguments in, an exit code out; every error is one line on stderr."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from scrapejobs_client import __version__
from scrapejobs_client.cli import connecting
from scrapejobs_client.cli.exits import MEANINGS, Exit, WrongUseError
from scrapejobs_client.client import Client
from scrapejobs_client.errors import ApiError, ResumeError, ScrapeJobsError

try:
    from scrapejobs_client.cli import changing, download, status, submit, watch
except ImportError as missing:
    sys.stderr.write(f"scrapejobs: the command needs {missing.name}: pip install 'scrapejobs-client[cli]'\n")
    raise SystemExit(Exit.WRONG_USE.value) from None

Run = Callable[[argparse.Namespace, Client], Exit]
AddArguments = Callable[[argparse.ArgumentParser], None]

COMMANDS: Final[dict[str, tuple[AddArguments, Run, str]]] = {
    "submit": (submit.add_arguments, submit.run, "hand jobs in"),
    "status": (status.add_arguments, status.run, "how jobs are now; without arguments the newest"),
    "watch": (watch.add_arguments, watch.run, "wait until jobs have ended, with a progress bar"),
    "download": (download.add_arguments, download.run, "fetch the results into a folder, as the jobs end"),
    "cancel": (changing.add_arguments, changing.cancel, "end jobs that wait or run"),
    "requeue": (changing.add_arguments, changing.requeue, "give failed jobs a fresh set of attempts"),
}
EPILOG: Final = "exit codes: " + "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items())


def parser() -> argparse.ArgumentParser:
    """All commands with their arguments."""
    top = argparse.ArgumentParser(
        prog="scrapejobs", description="Hand in URLs, fetch the results.", epilog=EPILOG, allow_abbrev=False
    )
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name, (add_arguments, run, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text, epilog=EPILOG, allow_abbrev=False)
        add_arguments(command)
        command.add_argument("--json", action="store_true", help="a JSON object a line, for pipes")
        connecting.add_arguments(command)
        command.set_defaults(run=run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show is no reason to stop
    options = parser().parse_args(arguments)
    try:
        with connecting.connect(options) as client:
            return int(options.run(options, client))
    except (WrongUseError, ResumeError) as error:
        return _failed(str(error), Exit.WRONG_USE)
    except ApiError as error:
        return _failed(str(error), Exit.REFUSED)
    except ScrapeJobsError as error:
        return _failed(str(error), Exit.UNREACHABLE)
    except KeyboardInterrupt:
        _failed("interrupted; the jobs go on", Exit.INTERRUPTED)
        os._exit(Exit.INTERRUPTED)  # what threads still fetch need not be waited for: the next download goes on from it
    except BrokenPipeError:  # the reader of the pipe has seen enough; Python's own last flush must not fail either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except OSError as error:
        return _failed(str(error), Exit.WRONG_USE)


def _failed(text: str, code: Exit) -> int:
    sys.stderr.write(f"scrapejobs: {text}\n")
    return int(code)
