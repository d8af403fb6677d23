"""What is done to the servers behind the service, and to the ways to them."""

import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Final

import psycopg
import redis

from tests.chaos import troubles
from tests.chaos.fault import Fault, Layout
from tests.chaos.nemesis import Blow, Wrong, strike
from tests.chaos.pages import PAGE_BYTES
from tests.chaos.proxy import Proxy, proxy_to
from tests.chaos.troubles import Trouble
from tests.chaos.world import World

VARIABLES: Final = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL", "s3": "S3_ENDPOINT_URL"}
SLOW_S: Final = 5.0
MOST_CONNECTIONS: Final = 250


@contextlib.contextmanager
def proxies(world: World) -> Iterator[Mapping[str, str]]:
    """Every role reaches every server through a proxy of its own."""
    with contextlib.ExitStack() as stack:
        ways: dict[str, Proxy] = {}
        for server, variable in VARIABLES.items():
            ways[server] = stack.enter_context(proxy_to(world.servers.environment[variable]))
        world.proxies |= ways
        yield {VARIABLES[server]: way.url for server, way in ways.items()}


def way(server: str, trouble: Callable[[Random], Trouble]) -> Blow:
    """Trouble on the way to a server."""

    @contextlib.contextmanager
    def blow(world: World, rng: Random) -> Iterator[None]:
        proxy = world.proxies[server]
        proxy.bring(trouble(rng))
        yield
        proxy.heal()
        world.note("so far", server=server, **proxy.counts)

    return blow


def cut(server: str) -> Blow:
    """Every line is cut, again and again."""

    @contextlib.contextmanager
    def blow(world: World, rng: Random) -> Iterator[None]:
        world.proxies[server].cut()
        yield

    return blow


def down(server: str, number: signal.Signals) -> Blow:
    """A server gets a signal, ends, and is started again."""

    @contextlib.contextmanager
    def blow(world: World, rng: Random) -> Iterator[None]:
        world.servers[server]._end(number)
        yield
        world.servers[server].start()

    return blow


@contextlib.contextmanager
def backends_terminated(world: World, rng: Random) -> Iterator[None]:
    with _beside_the_roles(world) as conn:
        conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    yield


@contextlib.contextmanager
def connections_exhausted(world: World, rng: Random) -> Iterator[None]:
    """Every role loses its connections, and somebody else has them all."""
    with contextlib.ExitStack() as stack:
        with _beside_the_roles(world) as conn:
            conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        with contextlib.suppress(psycopg.OperationalError):  # too many clients already
            for _ in range(MOST_CONNECTIONS):
                stack.enter_context(contextlib.closing(_beside_the_roles(world)))
            raise AssertionError(f"the server takes more than {MOST_CONNECTIONS} connections")
        yield


@contextlib.contextmanager
def flushed(world: World, rng: Random) -> Iterator[None]:
    with redis.Redis.from_url(world.servers.environment["REDIS_URL"]) as client:
        client.flushall()
    yield


def _beside_the_roles(world: World) -> "psycopg.Connection[tuple[object, ...]]":
    """A connection that does not go through the proxy."""
    return psycopg.connect(world.servers.environment["DATABASE_URL"], autocommit=True)


def refused(rng: Random) -> Trouble:
    return troubles.Refuse()


def swallowed(rng: Random) -> Trouble:
    return troubles.Swallow()


def held(rng: Random) -> Trouble:
    return troubles.Hold()


def delayed(rng: Random) -> Trouble:
    return troubles.Delay(rng.uniform(0.02, 0.2))


def slow(rng: Random) -> Trouble:
    return troubles.Delay(SLOW_S)


def answers_lost(rng: Random) -> Trouble:
    return troubles.LoseAnswer(times=rng.randint(1, 6))


def unavailable(rng: Random) -> Trouble:
    return troubles.Unavailable()


def cut_in_a_put(rng: Random) -> Trouble:
    return troubles.CutPut(rng.randrange(PAGE_BYTES))


def wrong_etag(rng: Random) -> Trouble:
    return troubles.WrongETag()


def corrupted(rng: Random) -> Trouble:
    return troubles.Corrupt()


AT_ONCE: Final = (0.05, 0.3)
BRIEF: Final = (0.5, 3.0)
LONG: Final = (1.0, 6.0)  # at times longer than a lease

POSTGRES: Final = {
    "postgres-immediate": ("Postgres is stopped with -m immediate", down("postgres", signal.SIGQUIT), AT_ONCE),
    "postgres-killed": ("Postgres is killed and started again", down("postgres", signal.SIGKILL), AT_ONCE),
    "postgres-backends": ("every connection's backend is terminated", backends_terminated, BRIEF),
    "postgres-exhausted": ("others have every connection that Postgres takes", connections_exhausted, BRIEF),
    "postgres-delayed": ("Postgres answers up to 200 ms later", way("postgres", delayed), LONG),
    "postgres-cut": ("every connection to Postgres is cut", cut("postgres"), AT_ONCE),
    "postgres-lost-answers": (
        "Postgres does what it is told and the answers are lost",
        way("postgres", answers_lost),
        BRIEF,
    ),
    "postgres-black-hole": ("what is said to Postgres is swallowed", way("postgres", swallowed), LONG),
    "postgres-held": ("what is said to Postgres arrives seconds later", way("postgres", held), LONG),
    "postgres-refused": ("Postgres refuses connections", way("postgres", refused), LONG),
}
VALKEY: Final = {
    "valkey-flushed": ("Valkey is flushed", flushed, AT_ONCE),
    "valkey-stopped": ("Valkey is stopped for a while", down("valkey", signal.SIGTERM), LONG),
    "valkey-killed": ("Valkey is killed and started again", down("valkey", signal.SIGKILL), AT_ONCE),
    "valkey-black-hole": ("what is said to Valkey is swallowed", way("valkey", swallowed), LONG),
}
S3: Final = {
    "s3-refused": ("the object store refuses connections", way("s3", refused), LONG),
    "s3-unavailable": ("the object store answers 503", way("s3", unavailable), LONG),
    "s3-slow": ("the object store answers 5 s later", way("s3", slow), LONG),
    "s3-black-hole": ("what is said to the object store is swallowed", way("s3", swallowed), LONG),
    "s3-cut-in-put": ("connections to the object store are cut in the middle of a PUT", way("s3", cut_in_a_put), LONG),
    "s3-lost-answers": (
        "the object store does what it is told and the answers are lost",
        way("s3", answers_lost),
        BRIEF,
    ),
    "s3-wrong-etag": ("the object store answers with a wrong ETag", way("s3", wrong_etag), LONG),
    "s3-corrupted": ("bodies are changed on their way to the object store", way("s3", corrupted), LONG),
    "s3-killed": ("the object store is killed and started again", down("s3", signal.SIGKILL), BRIEF),
}
ALL: Final = {"postgres": POSTGRES, "valkey": VALKEY, "s3": S3}
WRONGS: Final = {
    name: Wrong(blow, server, lasts_s) for server, its in ALL.items() for name, (_, blow, lasts_s) in its.items()
}
THROUGH_PROXIES: Final = Layout(between=proxies)


def wrong(*names: str) -> Mapping[str, Wrong]:
    """These, for a schedule of them alone."""
    return {name: WRONGS[name] for name in names}


FAULTS = (
    *(
        Fault(
            name,
            about,
            strike(wrong(name)),
            layout=THROUGH_PROXIES,
            is_quiet=server != "postgres",
            loses_no_attempt=server != "postgres",
        )
        for server, its in ALL.items()
        for name, (about, _, _) in its.items()
    ),
    Fault("nemesis", "everything goes wrong with every server", strike(WRONGS), layout=THROUGH_PROXIES, seconds=30.0),
)
