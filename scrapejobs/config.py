"""The only reader of the environment: one frozen `Config`, every mistake listed at once (ADR-0007).

Where a value comes from, first wins: the environment, files in `/run/secrets`, `DATA_DIR/stack.env`
(written by `manage.py up`, so that commands of the same checkout reach the same servers).
"""

import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    Field,
    IPvAnyNetwork,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from scrapejobs.domain.addresses import endpoint_of
from scrapejobs.domain.proxy import EgressProxy

PREFIX = "SCRAPEJOBS_"
CLIENT_NAMES = frozenset({"SCRAPEJOBS_URL", "SCRAPEJOBS_KEY"})
"""Of the command `scrapejobs` in client/; no settings, but at home in the same shell."""

SECRETS_DIR = Path("/run/secrets")
HEARTBEATS_MISSED = 3
STANDSTILL = "-c idle_in_transaction_session_timeout=5s"
"""For every session of ours: Postgres ends it when its process stands still within a transaction (stopped, or its
machine gone), whose locks would hold up all others.
"""

Networks = Annotated[tuple[IPvAnyNetwork, ...], NoDecode]
Names = Annotated[tuple[str, ...], NoDecode]
Ports = Annotated[tuple[int, ...], NoDecode]
Secrets = Annotated[tuple[SecretStr, ...], NoDecode]


class ConfigError(Exception):
    """The configuration cannot be used; the text lists every mistake, one a line."""


def _plain(name: str, default: Any = ...) -> Any:
    """A setting known by a name of its own, without the prefix, because the whole trade knows it so."""
    return Field(default, validation_alias=AliasChoices(name))


class Config(BaseSettings):
    """Every setting. Durations are float seconds and end in `_s`; sizes are bytes."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True)

    # Servers
    database_url: SecretStr = _plain("DATABASE_URL")
    redis_url: SecretStr = _plain("REDIS_URL")
    s3_endpoint_url: str = _plain("S3_ENDPOINT_URL")
    s3_public_endpoint_url: str | None = _plain("S3_PUBLIC_ENDPOINT_URL", None)
    s3_bucket: str = _plain("S3_BUCKET", "scrapejobs")
    s3_region: str = _plain("S3_REGION", "us-east-1")
    s3_access_key_id: SecretStr = _plain("S3_ACCESS_KEY_ID")
    s3_secret_access_key: SecretStr = _plain("S3_SECRET_ACCESS_KEY")

    # Processes
    data_dir: Path = _plain("DATA_DIR", Path(".data"))
    port: Annotated[int, Field(ge=1, le=65535)] = _plain("PORT", 8000)
    workers: Annotated[int, Field(ge=0, le=64)] = _plain("WORKERS", 1)
    bind: str = "127.0.0.1"
    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 9464
    slots: Annotated[int, Field(ge=1, le=1000)] = 20
    surface: Literal["all", "intake", "query"] = "all"
    gateway_threads: Annotated[int, Field(ge=1, le=64)] = 4
    body_timeout_s: PositiveFloat = 10.0
    job_cache_s: Annotated[float, Field(ge=0, le=60)] = 2.0
    grace_s: PositiveFloat = 25.0
    failpoint: str | None = None

    # Web
    secret_key: SecretStr
    sealing_keys: Secrets = ()
    allowed_hosts: Names = ("127.0.0.1", "localhost")
    api_url: str | None = None

    # How many requests; for a tenant these are rows, these are what a row does not say
    api_rate: PositiveFloat = 200.0
    api_burst: Annotated[float, Field(ge=1)] = 400.0
    stranger_rate: PositiveFloat = 5.0
    stranger_burst: Annotated[float, Field(ge=1)] = 20.0
    trusted_proxies: Networks = ()
    key_cache_s: NonNegativeFloat = 10.0
    gateways: Annotated[int, Field(ge=1, le=1000)] = 1

    # Leases and loops
    lease_s: PositiveFloat = 20.0
    renew_s: PositiveFloat | None = None
    sweep_s: PositiveFloat = 5.0
    dispatch_lease_s: PositiveFloat = 5.0
    ready_ttl_s: PositiveFloat = 2.0
    poll_s: PositiveFloat = 5.0
    heartbeat_s: PositiveFloat = 5.0

    # Retry policy
    retry_base_s: PositiveFloat = 2.0
    retry_cap_s: PositiveFloat = 600.0
    retry_after_cap_s: PositiveFloat = 3600.0
    max_attempts: PositiveInt = 5
    max_attempts_cap: PositiveInt = 20
    max_lost: PositiveInt = 3
    deadline_s: PositiveFloat = 86_400.0
    deadline_cap_s: PositiveFloat = 7 * 86_400.0

    # Fetch limits
    timeout_s: PositiveFloat = 60.0
    timeout_cap_s: PositiveFloat = 300.0
    dns_timeout_s: PositiveFloat = 5.0
    connect_timeout_s: PositiveFloat = 10.0
    max_bytes: PositiveInt = 20 * 1024 * 1024
    max_bytes_cap: PositiveInt = 100 * 1024 * 1024
    max_redirects: Annotated[int, Field(ge=0, le=50)] = 10
    max_header_bytes: PositiveInt = 64 * 1024
    max_headers: PositiveInt = 256
    max_headers_bytes: PositiveInt = 256 * 1024
    min_rate_bytes_s: NonNegativeFloat = 1024.0
    min_rate_after_s: PositiveFloat = 10.0
    user_agent: Annotated[str, Field(pattern=r"^[!-~]([ -~]*[!-~])?$")] = "scrapejobs/0.1"
    contact: Annotated[str, Field(pattern=r"^[!-'*-~]+$")] | None = None

    # What may be reached
    egress_allow: Networks = ()
    egress_deny: Networks = ()
    ports_allow: Ports = ()
    ports_deny: Ports = ()
    own_endpoints: Names = ()
    egress_proxy: SecretStr | None = None
    callback_allow_http: bool = False

    # Manners
    robots: bool = False
    robots_keep_s: Annotated[float, Field(gt=0, le=86_400)] = 86_400.0

    # Politeness and fairness; per host and per tenant these are rows, these are what a row does not say
    host_rate: PositiveFloat = 10.0
    host_burst: Annotated[float, Field(ge=1)] = 10.0
    host_concurrency: PositiveInt = 8
    host_rate_learns: bool = False
    circuit_error_threshold: PositiveInt = 10
    circuit_success_threshold: PositiveInt = 1
    circuit_timeout_s: PositiveFloat = 60.0

    # Webhooks
    callback_timeout_s: PositiveFloat = 30.0
    deliveries_at_once: PositiveInt = 50
    endpoint_off_after_s: PositiveFloat = 5 * 86_400.0

    # Keeping
    retention_days: Annotated[int, Field(ge=8, le=3650)] = 30
    receipt_ttl_s: Annotated[float, Field(ge=86_400)] = 86_400.0
    failed_secrets_s: PositiveFloat = 7 * 86_400.0
    link_ttl_s: Annotated[float, Field(gt=0, le=300)] = 300.0
    partitions_ahead_days: Annotated[int, Field(ge=2, le=60)] = 14

    @field_validator(
        "egress_allow",
        "egress_deny",
        "allowed_hosts",
        "ports_allow",
        "ports_deny",
        "own_endpoints",
        "trusted_proxies",
        mode="before",
    )
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("own_endpoints")
    @classmethod
    def _have_ports(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            endpoint_of(text)
        return value

    @field_validator("sealing_keys", mode="before")
    @classmethod
    def _split_keys(cls, value: Any) -> Any:
        return value.replace(",", " ").split() if isinstance(value, str) else value

    @field_validator("egress_proxy")
    @classmethod
    def _is_a_proxy(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            EgressProxy.of(value.get_secret_value())
        return value

    @property
    def agent(self) -> str:
        """The `User-Agent` of every request, with whom to turn to (RFC 9309, 2.2.1; RFC 9110, 10.1.5)."""
        return f"{self.user_agent} (+{self.contact})" if self.contact else self.user_agent

    @property
    def proxy(self) -> EgressProxy | None:
        """The way out, if it is not the direct one."""
        return EgressProxy.of(self.egress_proxy.get_secret_value()) if self.egress_proxy is not None else None

    @model_validator(mode="after")
    def _consistent(self) -> "Config":
        if self.renewal_s * 2 > self.lease_s:
            raise ValueError("RENEW_S must be at most half of LEASE_S, or one lost renewal loses the lease")
        if self.deadline_s > self.deadline_cap_s:
            raise ValueError("DEADLINE_S must not be above DEADLINE_CAP_S")
        if self.deadline_cap_s > (self.retention_days - 1) * 86_400:
            raise ValueError("DEADLINE_CAP_S must end a day before RETENTION_DAYS does: a job outlives no row")
        return self

    @property
    def renewal_s(self) -> float:
        """How often a worker renews its leases: a third of the lease unless set."""
        return self.renew_s if self.renew_s is not None else self.lease_s / 3

    @property
    def sealing_texts(self) -> tuple[str, ...]:
        """The sealing keys; the first one seals."""
        return tuple(key.get_secret_value() for key in self.sealing_keys)

    @property
    def alive_s(self) -> float:
        """How long a process may be silent before it counts as gone: three heartbeats."""
        return self.heartbeat_s * HEARTBEATS_MISSED


def stack_env() -> Path:
    """Where `manage.py up` notes the servers it runs, under this checkout's `DATA_DIR`."""
    root = Path(__file__).resolve().parent.parent
    return root / os.environ.get("DATA_DIR", ".data") / "stack.env"


@cache
def load() -> Config:
    """The configuration of this process. Raises `ConfigError` naming every mistake."""
    env_file = stack_env()
    mistakes = list(_unknown_names(os.environ))
    try:
        config = Config(
            _env_file=env_file if env_file.is_file() else None,
            _secrets_dir=SECRETS_DIR if SECRETS_DIR.is_dir() else None,
        )
    except ValidationError as error:
        mistakes += [_in_words(detail) for detail in error.errors(include_url=False)]
    if mistakes:
        hint = (
            "" if env_file.is_file() else "\n(no local stack runs here: `make up` starts one and sets what is missing)"
        )
        raise ConfigError("the configuration cannot be used:\n  " + "\n  ".join(mistakes) + hint)
    return config


def environment_name(field: str) -> str:
    """The environment variable that sets a field of `Config`."""
    alias = Config.model_fields[field].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else PREFIX + field.upper()


def _unknown_names(environment: Iterable[str]) -> Iterable[str]:
    known = {environment_name(field) for field in Config.model_fields}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known | CLIENT_NAMES:
            yield f"{name}: no such setting (`manage.py show_config` lists them)"


def _in_words(detail: Any) -> str:
    where = str(detail["loc"][0]) if detail["loc"] else ""
    name = environment_name(where) if where in Config.model_fields else where
    return f"{name}: {detail['msg']}" if name else str(detail["msg"])


def load_or_exit() -> Config:
    """As `load`, but ends the process with the list of mistakes and status 2: what a command's user should see."""
    try:
        return load()
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None
