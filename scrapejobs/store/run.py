"""Verbs without I/O, and the two drivers that carry them out (ADR-0011).

A verb is a generator: it yields a `Statement` (or a `Copy`), is sent the rows, and returns its answer. `run` drives it
on Django's connection, `run_async` on a psycopg `AsyncConnection`; so each verb and each statement is written once.
Both pass a verb's failpoints (ADR-0018): `begin`, `open` (all is done and not committed; atomic verbs) and `committed`
(before the caller hears of it).
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

import psycopg
from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.errors import DeadlockDetected, LockNotAvailable
from psycopg.rows import DictRow
from psycopg.types.json import JsonbLoader

from scrapejobs import failpoints
from scrapejobs.store.query import sql

Row = dict[str, Any]
T = TypeVar("T")
P = ParamSpec("P")

TRIES: Final = 5
_AGAIN: Final = (DeadlockDetected, LockNotAvailable)


@dataclass(frozen=True, slots=True)
class Statement:
    """One `.sql` file and its named parameters. Its rows come back as dicts."""

    name: str
    params: Row


@dataclass(frozen=True, slots=True)
class Copy:
    """One `.sql` file that is a COPY FROM STDIN, and the rows for it. No rows come back."""

    name: str
    rows: Sequence[Sequence[Any]]


Steps = Generator[Statement | Copy, list[Row], T]


@dataclass(frozen=True, slots=True)
class Verb(Generic[T]):
    """A verb ready to run. `atomic`: its statements share one transaction; otherwise it has a single statement."""

    name: str
    start: Callable[[], Steps[T]]
    atomic: bool


def verb(*, atomic: bool = False) -> Callable[[Callable[P, Steps[T]]], Callable[P, Verb[T]]]:
    """Turns a generator function into one that returns a `Verb`."""

    def decorate(function: Callable[P, Steps[T]]) -> Callable[P, Verb[T]]:
        name = function.__name__
        failpoints.declare(name, "begin", *(["open"] if atomic else []), "committed")

        @wraps(function)
        def bind(*args: P.args, **kwargs: P.kwargs) -> Verb[T]:
            return Verb(name=name, start=lambda: function(*args, **kwargs), atomic=atomic)

        return bind

    return decorate


def run(what: Verb[T]) -> T:
    """Carries out a verb on Django's connection; a deadlock or lock time-out is tried again."""
    failpoints.reach(what.name, "begin")
    answer = _run(what)
    failpoints.reach(what.name, "committed")
    return answer


def _run(what: Verb[T]) -> T:
    for again in range(TRIES, 0, -1):
        try:
            if not what.atomic:
                return _drive(what.start())
            with transaction.atomic():
                answer = _drive(what.start())
                failpoints.reach(what.name, "open")
                return answer
        except OperationalError as error:
            if again == 1 or connection.in_atomic_block or not isinstance(error.__cause__, _AGAIN):
                raise
    raise AssertionError("unreachable")


async def run_async(conn: psycopg.AsyncConnection[DictRow], what: Verb[T]) -> T:
    """Carries out a verb on an autocommit connection; a deadlock or lock time-out is tried again."""
    failpoints.reach(what.name, "begin")
    answer = await _run_async(conn, what)
    failpoints.reach(what.name, "committed")
    return answer


async def _run_async(conn: psycopg.AsyncConnection[DictRow], what: Verb[T]) -> T:
    for again in range(TRIES, 0, -1):
        try:
            if not what.atomic:
                return await _drive_async(conn, what.start())
            async with conn.transaction():
                answer = await _drive_async(conn, what.start())
                failpoints.reach(what.name, "open")
                return answer
        except _AGAIN:
            if again == 1:
                raise
    raise AssertionError("unreachable")


def _drive(steps: Steps[T]) -> T:
    with connection.cursor() as cursor:
        cursor.cursor.adapters.register_loader("jsonb", JsonbLoader)  # Django's own leaves it to its models
        try:
            step = next(steps)
            while True:
                step = steps.send(_carry_out(cursor, step))
        except StopIteration as stop:
            return cast(T, stop.value)


def _carry_out(cursor: CursorWrapper, step: Statement | Copy) -> list[Row]:
    if isinstance(step, Copy):
        with connection.wrap_database_errors, cursor.cursor.copy(sql(step.name)) as copy:
            for row in step.rows:
                copy.write_row(row)
        return []
    cursor.execute(sql(step.name), step.params)
    columns = [column.name for column in cursor.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()] if columns else []


async def _drive_async(conn: psycopg.AsyncConnection[DictRow], steps: Steps[T]) -> T:
    async with conn.cursor() as cursor:
        try:
            step = next(steps)
            while True:
                step = steps.send(await _carry_out_async(cursor, step))
        except StopIteration as stop:
            return cast(T, stop.value)


async def _carry_out_async(cursor: psycopg.AsyncCursor[DictRow], step: Statement | Copy) -> list[Row]:
    if isinstance(step, Copy):
        async with cursor.copy(sql(step.name)) as copy:
            for row in step.rows:
                await copy.write_row(row)
        return []
    await cursor.execute(sql(step.name), step.params)
    return await cursor.fetchall() if cursor.description else []
