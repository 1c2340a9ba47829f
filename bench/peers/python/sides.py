"""How LangGraph's saver and store are run: on threads, in pipelines, or as tasks of asyncio. Connections are opened and
everything is built before a clock starts."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.postgres import AsyncPostgresStore, PostgresStore
from psycopg import Connection
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

# What from_conn_string of the libraries gives its connections, and the documentation asks of a pool's: each statement is
# prepared when it is first executed.
CONNECTION = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}

DIMENSIONS = 256


class HashedWords(Embeddings):
    """Vectors that need no model. They are kept, so that a measurement that has embedded its texts before measures no
    embedding."""

    def __init__(self) -> None:
        self._vectors: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if text not in self._vectors:
            self._vectors[text] = _vector(text)
        return self._vectors[text]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


def _vector(text: str) -> list[float]:
    sums = [0.0] * DIMENSIONS
    for word in text.split():
        # Not hash(): its seed differs from process to process.
        sums[sum(byte * 31**place for place, byte in enumerate(word.encode()[:12])) % DIMENSIONS] += 1.0
    return sums if any(sums) else [1.0] * DIMENSIONS


EMBEDDINGS = HashedWords()


def index() -> dict[str, Any]:
    """The index of the store that is searched: the whole value, as is LangGraph's default."""
    return {"dims": DIMENSIONS, "embed": EMBEDDINGS, "fields": ["$"]}


@dataclass
class Target:
    """What an operation is called on: a saver, a store, and a store whose items are embedded."""

    saver: Any
    store: Any
    searched: Any


@dataclass
class Measured:
    """Latencies in nanoseconds, wall clock and CPU time of the process for all of them, and the last step's result."""

    latencies: list[int] = field(default_factory=list)
    wall: int = 0
    cpu: int = 0
    last: Any = None

    @contextmanager
    def clock(self) -> Iterator[None]:
        # Garbage of the preparation is not the operation's.
        gc.collect()
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        yield
        self.wall, self.cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu


class Threads:
    """A target for each thread. One thread needs no other."""

    def __init__(self, targets: list[Target], resources: ExitStack) -> None:
        self._targets = targets
        self._resources = resources

    @classmethod
    def pooled(cls, database: str, connections: int) -> Threads:
        """The documented way: one saver and one store on a pool, shared by threads."""
        with ExitStack() as stack:
            pool = stack.enter_context(
                ConnectionPool(database, min_size=connections, max_size=connections, kwargs=CONNECTION, open=False)
            )
            pool.wait()
            target = Target(PostgresSaver(pool), PostgresStore(pool), PostgresStore(pool, index=index()))
            return cls([target] * connections, stack.pop_all())

    @classmethod
    def pipelined(cls, database: str, connections: int) -> Threads:
        """What the library's pipeline=True does. It refuses pools, so that each thread has a saver and stores of its own."""
        with ExitStack() as stack:
            targets = []
            for _ in range(connections):
                connection = stack.enter_context(Connection.connect(database, **CONNECTION))
                pipe = stack.enter_context(connection.pipeline())
                targets.append(
                    Target(
                        PostgresSaver(connection, pipe),
                        PostgresStore(connection, pipe=pipe),
                        PostgresStore(connection, pipe=pipe, index=index()),
                    )
                )
            return cls(targets, stack.pop_all())

    def close(self) -> None:
        self._resources.close()

    def measure(self, call: Callable[[Target, Any], Any], steps: Sequence[Any]) -> Measured:
        count = len(self._targets)
        shares = [steps[number::count] for number in range(count)]
        results: list[list[Any]] = [[] for _ in range(count)]
        latencies: list[list[int]] = [[] for _ in range(count)]
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                _timed(call, self._targets[number], shares[number], latencies[number], results[number])
            except BaseException as failure:  # noqa: BLE001: raised below, on the thread that can answer for it
                failures.append(failure)

        measured = Measured()
        if count == 1:
            with measured.clock():
                work(0)
        else:
            self._on_threads(work, measured)
        if failures:
            raise failures[0]
        measured.latencies = [latency for own in latencies for latency in own]
        [measured.last] = results[(len(steps) - 1) % count]
        return measured

    def _on_threads(self, work: Callable[[int], None], measured: Measured) -> None:
        ready = threading.Barrier(len(self._targets) + 1)

        def wait_and_work(number: int) -> None:
            ready.wait()
            work(number)

        threads = [threading.Thread(target=wait_and_work, args=[number]) for number in range(len(self._targets))]
        for thread in threads:
            thread.start()
        with measured.clock():
            ready.wait()
            for thread in threads:
                thread.join()


def _timed(
    call: Callable[[Target, Any], Any], target: Target, steps: Sequence[Any], latencies: list[int], last: list[Any]
) -> None:
    result = None
    for step in steps:
        start = time.perf_counter_ns()
        result = call(target, step)
        latencies.append(time.perf_counter_ns() - start)
    last.append(result)


class Tasks:
    """One AsyncPostgresSaver and one AsyncPostgresStore on a pool, shared by as many tasks as there are connections."""

    def __init__(self, runner: asyncio.Runner, database: str, connections: int) -> None:
        self._runner = runner
        self._connections = connections
        self._resources = AsyncExitStack()
        self._target = runner.run(self._open(database))

    async def _open(self, database: str) -> Target:
        pool = AsyncConnectionPool(
            database, min_size=self._connections, max_size=self._connections, kwargs=CONNECTION, open=False
        )
        await self._resources.enter_async_context(pool)
        await pool.wait()
        store = await self._resources.enter_async_context(AsyncPostgresStore(pool))
        searched = await self._resources.enter_async_context(AsyncPostgresStore(pool, index=index()))
        return Target(AsyncPostgresSaver(pool), store, searched)

    def close(self) -> None:
        self._runner.run(self._resources.aclose())

    def measure(self, call: Callable[[Target, Any], Awaitable[Any]], steps: Sequence[Any]) -> Measured:
        return self._runner.run(self._measure(call, steps))

    async def _measure(self, call: Callable[[Target, Any], Awaitable[Any]], steps: Sequence[Any]) -> Measured:
        measured = Measured()
        shares = [steps[number :: self._connections] for number in range(self._connections)]
        with measured.clock():
            done = await asyncio.gather(*(self._work(call, share) for share in shares))
        measured.latencies = [latency for latencies, _ in done for latency in latencies]
        measured.last = done[(len(steps) - 1) % self._connections][1]
        return measured

    async def _work(self, call: Callable[[Target, Any], Awaitable[Any]], steps: Sequence[Any]) -> tuple[list[int], Any]:
        latencies, result = [], None
        for step in steps:
            start = time.perf_counter_ns()
            result = await call(self._target, step)
            latencies.append(time.perf_counter_ns() - start)
        return latencies, result
