"""LangGraph's own PostgresSaver and PostgresStore as a peer of the benchmark: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import json
import platform
import sys
import time
import traceback
from typing import Any

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.postgres import PostgresStore
from psycopg import Connection

from operations import OPERATIONS, Database, Request
from payloads import Payloads, Refused
from sides import CONNECTION, Tasks, Threads, index

PACKAGES = ["langgraph-checkpoint-postgres", "langgraph-checkpoint", "langchain-core", "psycopg", "psycopg-pool"]
MODES = ["sync", "async", "pipeline"]


class Peer:
    """Answers requests. Connections stay open from one run to the next, with the statements that they prepared."""

    def __init__(self, resources: contextlib.ExitStack) -> None:
        self._resources = resources
        self._runner = resources.enter_context(asyncio.Runner())
        self._sides: dict[tuple[str, int], Threads | Tasks] = {}
        self._database: Database | None = None
        self._url = ""

    def answer(self, request: Request) -> dict[str, Any]:
        match request.get("do"):
            case "hello":
                return self._hello(request)
            case "fill":
                return self._fill(request)
            case "run":
                return self._run(request)
            case other:
                raise Refused(f"no such request: {other!r}; hello, fill, run and quit are known")

    def _hello(self, request: Request) -> dict[str, Any]:
        if self._database:
            raise Refused("hello was said already")
        self._url = request.text("database")
        bodies = Payloads(request.text("payloads"))
        connection = self._resources.enter_context(Connection.connect(self._url, **CONNECTION))
        saver, store = PostgresSaver(connection), PostgresStore(connection)
        saver.setup()
        store.setup()
        self._database = Database(saver, store, PostgresStore(connection, index=index()), bodies)
        versions = {package: importlib.metadata.version(package) for package in PACKAGES}
        return {
            "name": f"{PACKAGES[0]} {versions[PACKAGES[0]]}",
            "runtime": f"{platform.python_implementation()} {platform.python_version()}".replace("CPython", "Python"),
            "versions": {**versions, "psycopg implementation": psycopg.pq.__impl__},
            "operations": list(OPERATIONS),
            "modes": MODES,
        }

    def _fill(self, request: Request) -> dict[str, Any]:
        database = self._opened()
        thread, checkpoints, payload = request.text("thread"), request.number("checkpoints"), request.text("payload")
        start = time.perf_counter_ns()
        database.fill(thread, checkpoints, payload, delta=bool(request.get("delta")))
        return {"nanoseconds": time.perf_counter_ns() - start}

    def _run(self, request: Request) -> dict[str, Any]:
        database = self._opened()
        if (name := request.text("operation")) not in OPERATIONS:
            raise Refused(f"operation not offered: {name}")
        operation, side = OPERATIONS[name], self._side(request.text("mode"), request.number("connections"))
        steps = operation.prepare(database, request)
        measured = side.measure(operation.acall if isinstance(side, Tasks) else operation.call, steps)
        return {
            "nanoseconds": measured.latencies,
            "wall": measured.wall,
            "cpu": measured.cpu,
            "sample": operation.sample(database, request, steps[-1], measured.last),
        }

    def _opened(self) -> Database:
        if self._database is None:
            raise Refused("say hello first")
        return self._database

    def _side(self, mode: str, connections: int) -> Threads | Tasks:
        if mode not in MODES:
            raise Refused(f"mode not offered: {mode}; {', '.join(MODES)} are")
        if (mode, connections) not in self._sides:
            side = self._open(mode, connections)
            self._resources.callback(side.close)
            self._sides[mode, connections] = side
        return self._sides[mode, connections]

    def _open(self, mode: str, connections: int) -> Threads | Tasks:
        match mode:
            case "sync":
                return Threads.pooled(self._url, connections)
            case "pipeline":
                return Threads.pipelined(self._url, connections)
            case _:
                return Tasks(self._runner, self._url, connections)


def main() -> None:
    with contextlib.ExitStack() as resources:
        peer = Peer(resources)
        for line in sys.stdin:
            try:
                request = Request(json.loads(line))
                if request.get("do") == "quit":
                    return
                answer = {"ok": True, **peer.answer(request)}
            except Refused as refusal:
                answer = {"ok": False, "error": str(refusal)}
            except Exception as error:  # noqa: BLE001: whatever it is, the driver is told
                traceback.print_exc()
                answer = {"ok": False, "error": f"{error}" or type(error).__name__}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
