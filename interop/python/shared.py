"""LangGraph's own PostgresSaver and the Go saver on the same tables, taking turns within one thread."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg.rows import dict_row

from bridge import Bridge
from saver import BridgeSaver


class SharedSaver(BaseCheckpointSaver[str]):
    """Gives every other operation to the Go saver, and those between to LangGraph's. What only one can do goes to that."""

    def __init__(self, bridge: Bridge, connection: psycopg.Connection, serde: JsonPlusSerializer | None = None) -> None:
        super().__init__(serde=serde)
        self.go = BridgeSaver(bridge, serde=serde)
        self._turns = itertools.cycle([self.go, PostgresSaver(connection, serde=serde)])
        # Both savers keep the order of what they are asked for; together they need this.
        self._lock = threading.Lock()
        self._async_lock = asyncio.Lock()

    def _take(self, operation: str, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            answer = getattr(next(self._turns), operation)(*arguments, **options)
            return list(answer) if operation == "list" else answer

    async def _atake(self, operation: str, *arguments: Any, **options: Any) -> Any:
        async with self._async_lock:
            return await asyncio.to_thread(self._take, operation, *arguments, **options)

    def get_tuple(self, *arguments: Any) -> Any:
        return self._take("get_tuple", *arguments)

    async def aget_tuple(self, *arguments: Any) -> Any:
        return await self._atake("get_tuple", *arguments)

    def list(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        yield from self._take("list", *arguments, **options)

    async def alist(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        for found in await self._atake("list", *arguments, **options):
            yield found

    def put(self, *arguments: Any) -> Any:
        return self._take("put", *arguments)

    async def aput(self, *arguments: Any) -> Any:
        return await self._atake("put", *arguments)

    # LangGraph looks for the name task_path before it passes one.

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._take("put_writes", config, writes, task_id, task_path)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        await self._atake("put_writes", config, writes, task_id, task_path)

    def get_delta_channel_history(self, **options: Any) -> Any:
        return self._take("get_delta_channel_history", **options)

    async def aget_delta_channel_history(self, **options: Any) -> Any:
        return await self._atake("get_delta_channel_history", **options)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._atake("delete_thread", thread_id)

    async def aprune(self, *arguments: Any, **options: Any) -> None:
        await self.go.aprune(*arguments, **options)

    async def acopy_thread(self, *arguments: Any) -> None:
        await self.go.acopy_thread(*arguments)

    async def adelete_for_runs(self, *arguments: Any) -> None:
        await self.go.adelete_for_runs(*arguments)

    def get_next_version(self, current: str | None, channel: None) -> str:
        return self._take("get_next_version", current, channel)


def connect(bridge: Bridge) -> psycopg.Connection:
    """A connection as PostgresSaver wants it, to the schema of the Go saver."""
    return psycopg.connect(
        bridge.greeting["database_url"],
        autocommit=True, prepare_threshold=0, row_factory=dict_row, options="-c search_path=langgraph",
    )
