"""What can go wrong with embedded servers."""


class EmbeddedError(Exception):
    """A server cannot be run here; the text says why, in words for the person who started it."""


class AlreadyRunningError(EmbeddedError):
    """Another process runs the servers of this data directory."""
