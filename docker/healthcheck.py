"""Whether the role in this container is alive: exit 0 when its /healthz answers 200, else 1."""

import http.client
import sys

TIMEOUT_S = 3.0


def is_alive(port: int) -> bool:
    """Ask /healthz on the loopback. No answer, or any other answer, is no."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if is_alive(int(sys.argv[1])) else 1)
