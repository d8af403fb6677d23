"""What the command's exit code tells. The numbers are part of the contract: docs/howto/command-line.md."""

from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    DONE = 0
    SOME_FAILED = 1
    WRONG_USE = 2
    UNREACHABLE = 3
    REFUSED = 4
    INTERRUPTED = 130


MEANINGS: Final = {
    Exit.DONE: "all done",
    Exit.SOME_FAILED: "some of it failed: a job did not succeed, a line was refused, a file could not be fetched",
    Exit.WRONG_USE: "wrong use: an argument, a file or an environment variable",
    Exit.UNREACHABLE: "the service does not answer",
    Exit.REFUSED: "the service refused the whole: a key that is not valid, a scope or a quota",
    Exit.INTERRUPTED: "Ctrl-C",
}


class WrongUseError(Exception):
    """What the user has to mend; the text is one line."""
