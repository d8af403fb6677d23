"""The container files, checked as far as no container engine is needed."""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from scrapejobs.config import Config, environment_name
from scrapejobs.ops import roles

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((DOCKER / "compose.yml").read_text("utf-8"))
SERVICES = COMPOSE["services"]
ALERTS = [
    rule for group in yaml.safe_load((DOCKER / "alerts.yml").read_text("utf-8"))["groups"] for rule in group["rules"]
]
ROLES = ("gateway", *roles.ROLES)
SETTINGS = {environment_name(field) for field in Config.model_fields}


def example_environment() -> dict[str, str]:
    lines = (DOCKER / ".env.example").read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def image_sources() -> list[str]:
    """What the Dockerfile copies from the repository."""
    copies = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    return [source for copy in copies for source in copy.split()[:-1]]


def run_entrypoint(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", DOCKER / "entrypoint.sh", *arguments],
        cwd=ROOT,
        env={"PATH": f"{path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def echoing_python(tmp_path: Path) -> Path:
    """A folder with a `python` that prints its arguments, one a line."""
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    return tmp_path


def test_every_source_that_the_image_copies_exists():
    assert image_sources()
    for source in image_sources():
        assert (ROOT / source).exists(), source


def test_the_build_context_holds_every_source_and_no_more():
    lines = (DOCKER / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert "*" in lines
    assert {line[1:] for line in lines if line.startswith("!")} == set(image_sources())


def test_the_image_installs_locked_and_hashed_requirements_only():
    installs = re.findall(r"pip install (.+)$", DOCKERFILE, re.MULTILINE)
    assert len(installs) == 1
    assert "--require-hashes" in installs[0]
    assert "--hash=sha256:" in (ROOT / "requirements.txt").read_text("utf-8")


def test_the_image_does_not_run_as_root():
    users = re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE)
    assert users
    assert users[-1].split(":")[0] not in {"root", "0"}


def test_the_exposed_ports_are_the_default_ports():
    exposed = re.search(r"^EXPOSE (.+)$", DOCKERFILE, re.MULTILINE)
    assert exposed is not None
    fields = Config.model_fields
    assert [int(port) for port in exposed[1].split()] == [fields["port"].default, fields["metrics_port"].default]


def test_the_health_check_asks_the_default_metrics_port():
    port = Config.model_fields["metrics_port"].default
    assert f'healthcheck.py "${{SCRAPEJOBS_METRICS_PORT:-{port}}}"' in DOCKERFILE


def test_variables_set_in_the_image_are_settings():
    names = re.findall(r"\b(SCRAPEJOBS_[A-Z_]+)=", DOCKERFILE)
    assert names
    assert set(names) <= SETTINGS


@pytest.mark.req("NFR-10")
def test_every_role_is_a_service_of_its_own_that_waits_for_the_migrations():
    by_role = {service["command"][0]: service for service in SERVICES.values() if "env_file" in service}
    assert set(by_role) == {*ROLES, "manage"}
    for role in ROLES:
        assert by_role[role]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def test_every_service_waited_for_can_become_what_is_waited_for():
    for name, service in SERVICES.items():
        for other, wait in service.get("depends_on", {}).items():
            condition = wait["condition"]
            assert other in SERVICES, f"{name} waits for {other}"
            if condition == "service_healthy":
                assert "healthcheck" in SERVICES[other], f"{other} has no health check"
            else:
                assert SERVICES[other]["restart"] == "no", f"{other} is started again and never completes"


def test_every_variable_in_the_compose_file_is_in_the_example():
    names = set(re.findall(r"(?<!\$)\$\{([A-Z0-9_]+)", (DOCKER / "compose.yml").read_text("utf-8")))
    assert names
    assert names <= set(example_environment())


def test_every_variable_in_the_example_is_a_setting():
    assert set(example_environment()) - SETTINGS == {"POSTGRES_PASSWORD"}  # for the server, and part of the URL


def test_the_example_with_its_secrets_filled_in_is_a_whole_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    values = {name: value or "0123456789abcdef" for name, value in example_environment().items()}
    file = tmp_path / "env"
    file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    config = Config(_env_file=file)
    assert config.database_url.get_secret_value() == "postgresql://scrapejobs:0123456789abcdef@postgres:5432/scrapejobs"


def test_the_example_holds_no_secret():
    secrets = ("PASSWORD", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SECRET_KEY")
    for name, value in example_environment().items():
        assert not (name.endswith(secrets) and value), name


def test_servers_listen_to_this_machine_only_unless_changed():
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), name


def test_the_entrypoint_is_valid_shell():
    assert subprocess.run(["/bin/sh", "-n", DOCKER / "entrypoint.sh"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["worker", "--name", "two words"], ["manage.py", "run_role", "worker", "--name", "two words"]),
        (["gateway"], ["manage.py", "run_role", "gateway"]),
        (["manage", "migrate", "--noinput"], ["manage.py", "migrate", "--noinput"]),
    ],
)
def test_the_entrypoint_runs_a_role_or_a_command(echoing_python: Path, arguments: list[str], command: list[str]):
    ended = run_entrypoint(*arguments, path=echoing_python)
    assert ended.stdout.splitlines() == command


def test_the_entrypoint_hands_over_the_exit_status(tmp_path: Path):
    (tmp_path / "python").symlink_to("/bin/false")
    assert run_entrypoint("worker", path=tmp_path).returncode == 1


def test_the_role_without_a_listener_is_not_alive():
    ended = subprocess.run([sys.executable, DOCKER / "healthcheck.py", "1"], check=False)
    assert ended.returncode == 1


def test_prometheus_scrapes_every_role_on_the_metrics_port():
    (job,) = yaml.safe_load((DOCKER / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    (discovery,) = job["dns_sd_configs"]
    assert set(discovery["names"]) == set(ROLES)
    assert discovery["port"] == Config.model_fields["metrics_port"].default


@pytest.mark.req("FR-13")
def test_every_alert_has_a_page_and_every_page_an_alert():
    pages = {alert["annotations"]["runbook"] for alert in ALERTS}
    written = {str(page.relative_to(ROOT)) for page in (ROOT / "docs/runbook").glob("*.md")}
    assert pages == written - {"docs/runbook/index.md"}


@pytest.mark.req("FR-13")
def test_alerts_use_documented_metrics_only():
    reference = (ROOT / "docs/reference/metrics.md").read_text("utf-8")
    for alert in ALERTS:
        names = re.findall(r"scrapejobs_[a-z_]+", alert["expr"])
        assert names, alert["alert"]
        for name in names:
            assert f"`{name.removesuffix('_count')}`" in reference, name


def test_no_secret_file_can_be_committed():
    ignored = (DOCKER / ".gitignore").read_text("utf-8").split()
    assert any(fnmatch.fnmatch(".env", pattern) for pattern in ignored)
