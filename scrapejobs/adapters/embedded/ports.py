"""Ports on loopback for our own servers."""

import secrets
import socket

# Below the ports that Linux gives to outgoing connections (ip_local_port_range begins at 32768), so that none
# of those takes a server's port while it restarts.
FIRST, LAST = 20_000, 30_000
TRIES = 100


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_port(preferred: int | None = None) -> int:
    """`preferred` if it is free, else a random one that is. Raises `OSError` when none is found."""
    if preferred is not None and is_free(preferred):
        return preferred
    for _ in range(TRIES):
        port = FIRST + secrets.randbelow(LAST - FIRST)
        if is_free(port):
            return port
    raise OSError(f"no free port found between {FIRST} and {LAST}")
