"""Django's connection of this thread: whether the server has cut it off, without asking the server."""

import select

from django.db import connection


def close_if_cut_off() -> None:
    """Closes it if the server has closed it, or has said something unasked, which is how it says goodbye: the next
    statement connects anew. A look at the socket, where Django's own health check is a round trip for each request.
    """
    conn = connection.connection
    if conn is None or connection.in_atomic_block:
        return
    if conn.closed or _has_input(conn.fileno()):
        connection.close()


def _has_input(fd: int) -> bool:
    look = select.poll()
    look.register(fd, select.POLLIN)
    return bool(look.poll(0))
