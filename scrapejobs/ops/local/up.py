"""The local stack: servers that no setting names, tables, every role as a process of its own (`manage.py up`).

Runs before Django's settings can load, because they need the servers that it starts.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from scrapejobs.adapters.embedded import EmbeddedError, Servers, free_port, hold, is_free, start_servers
from scrapejobs.config import PREFIX, Config, environment_name, load_or_exit, stack_env
from scrapejobs.ops.local.data_dir import Access, keep_access, recall_access, write_stack_env
from scrapejobs.ops.local.prepare import ADMINISTRATOR, TENANT
from scrapejobs.ops.local.readable import Log
from scrapejobs.ops.local.supervisor import RoleProcess, Supervisor

ROOT = Path(__file__).resolve().parents[3]
EXTERNAL = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL", "s3": "S3_ENDPOINT_URL"}
ROLES = ("gateway", "publisher", "scheduler", "courier")
GRACE_S = 28.0


class UpError(Exception):
    """The stack cannot be brought up; the text is the one line to show."""


def up() -> int:
    """Bring the stack up and keep it up until told to stop. The exit status: 1 if it could not be brought up."""
    data_dir = stack_env().parent
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the supervisor takes both over
    try:
        with hold(data_dir):
            return _run(data_dir, Log())
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (EmbeddedError, UpError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _run(data_dir: Path, log: Log) -> int:
    stack_env().unlink(missing_ok=True)  # a killed run left it
    servers = start_servers(data_dir, want=[name for name, given in EXTERNAL.items() if not os.environ.get(given)])
    try:
        if servers.note:
            log.say("up", servers.note)
        access = recall_access(data_dir)
        os.environ.update(_settings(servers, access))
        config = load_or_exit()
        if not is_free(config.port):
            raise UpError(f"port {config.port} is in use; another one: make up PORT={config.port + 1}")
        os.environ[f"{PREFIX}API_URL"] = api_url = config.api_url or f"http://127.0.0.1:{config.port}"
        write_stack_env(data_dir, _own_settings())
        access = _prepare(access)
        keep_access(data_dir, access)
        processes = _processes(config)
        _deny_to_jobs(config, processes)
        supervisor = Supervisor(
            processes, environment=os.environ, directory=ROOT, servers=servers, say=log.say, grace_s=GRACE_S
        )
        ready = asyncio.run(supervisor.run(lambda: _announce(api_url, config, access=access, processes=processes)))
        return 0 if ready else 1
    finally:
        stack_env().unlink(missing_ok=True)
        servers.stop()


def _settings(servers: Servers, access: Access) -> Mapping[str, str]:
    """What the environment lacks to reach the servers started here."""
    own = {f"{PREFIX}SECRET_KEY": access.secret_key, f"{PREFIX}SEALING_KEYS": access.sealing_key}
    return {**servers.environment, **{name: os.environ.get(name) or value for name, value in own.items()}}


def _own_settings() -> Mapping[str, str]:
    """Every setting of ours in the environment, so that commands mean what the stack means."""
    names = {environment_name(field) for field in Config.model_fields} - {"DATA_DIR"}
    return {name: value for name, value in os.environ.items() if name in names and value}


def _prepare(access: Access) -> Access:
    """Tables, bucket, administrator and API key, made by a process that has Django's settings."""
    done = subprocess.run(
        [sys.executable, "-m", "scrapejobs.ops.local.prepare"],
        cwd=ROOT,
        input=json.dumps(asdict(access)),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise UpError("the servers could not be made ready; the reason is above")
    return Access(**json.loads(done.stdout))


def _processes(config: Config) -> list[RoleProcess]:
    """Every role of this stack, each with a metrics port of its own."""
    commands = {role: [role] for role in ROLES}
    commands |= {f"worker-{n}": ["worker", "--name", f"worker-{n}"] for n in range(1, config.workers + 1)}
    processes = []
    for label, command in commands.items():
        port = free_port()
        argv = [sys.executable, "manage.py", "run_role", *command, "--metrics-port", str(port)]
        also = [config.port] if label == "gateway" else []
        processes.append(RoleProcess(label, argv, [port, *also]))
    return processes


def _deny_to_jobs(config: Config, processes: list[RoleProcess]) -> None:
    """Tell every role where the others listen: no job may reach them, though loopback may be allowed."""
    ports = sorted({port for process in processes for port in process.ready_ports})
    bind = f"[{config.bind}]" if ":" in config.bind else config.bind
    own = [*config.own_endpoints, *(f"{bind}:{port}" for port in ports)]
    os.environ[environment_name("own_endpoints")] = ",".join(own)


def _announce(api_url: str, config: Config, *, access: Access, processes: list[RoleProcess]) -> None:
    """Say where everything is; the last line is for programs that wait for it."""
    metrics = "  ".join(f"{process.label} :{process.ready_ports[0]}" for process in processes)
    sys.stdout.write(
        f"""
  API      {api_url}
  docs     {api_url}/docs
  admin    {api_url}/admin/   user {ADMINISTRATOR}, password {access.admin_password}
  key      {access.api_key}   (tenant {TENANT})
  metrics  http://127.0.0.1:PORT/metrics   {metrics}
  data     {config.data_dir}

  curl -s {api_url}/jobs -H 'Authorization: Bearer {access.api_key}' \\
    -H 'Content-Type: application/json' -d '{{"url": "https://example.com/"}}'

  or, from another terminal in this directory:
  export SCRAPEJOBS_URL={api_url} SCRAPEJOBS_KEY={access.api_key}
  echo https://example.com/ | .venv/bin/scrapejobs submit - --wait

ready http://127.0.0.1:{config.port}
"""
    )
    sys.stdout.flush()
