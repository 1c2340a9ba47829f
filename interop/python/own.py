"""LangGraph's own savers, unmodified, on our tables, under a role that may not change them; and what Go reads of that.

The savers find the tables by the search_path in their connection string. Every scenario of graphs.py runs, synchronously on
PostgresSaver and asynchronously on AsyncPostgresSaver; it has to be seen as on the InMemorySaver, and afterwards Go has to
read the same states, histories, tasks, interrupts and pending writes as Python, whose snapshots are the oracle.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import sql
from psycopg.rows import dict_row

import database
import graphs
import official
from bridge import Bridge
from groups import Count, Group
from peers import Peer, assert_lists_the_same, assert_reads_the_same

group = Group()


class Ours:
    """Our database, and the connection string of a role that may only use its tables."""

    def __init__(self, bridge: Bridge, program: str, role: str) -> None:
        self.bridge, self.program, self.role = bridge, program, role
        self.url = database.url_of(bridge)
        self.conninfo = database.conninfo(self.url, search_path="langgraph", role=role)

    def nothing_changed(self) -> None:
        database.command(self.program, "migrate", self.url, "verify")
        made = database.owned_by(self.url, self.role)
        assert made == 0, f"the role has made {made} tables"


class Threaded(PostgresSaver):
    """PostgresSaver for callers that are asynchronous, as the suite is: each asynchronous method is the synchronous one, in a thread."""

    async def aput(self, *arguments: Any) -> Any:
        return await asyncio.to_thread(self.put, *arguments)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, *arguments: Any) -> Any:
        return await asyncio.to_thread(self.get_tuple, *arguments)

    async def alist(self, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        for found in await asyncio.to_thread(lambda: list(self.list(*arguments, **options))):
            yield found

    async def adelete_thread(self, *arguments: Any) -> None:
        await asyncio.to_thread(self.delete_thread, *arguments)

    async def aprune(self, *arguments: Any, **options: Any) -> None:
        await asyncio.to_thread(lambda: self.prune(*arguments, **options))


def synchronous(conninfo: str, serde: JsonPlusSerializer | None = None, kind: type[PostgresSaver] = PostgresSaver) -> PostgresSaver:
    """As from_conn_string makes it, with a serializer."""
    return kind(psycopg.connect(conninfo, autocommit=True, prepare_threshold=0, row_factory=dict_row), serde=serde)


@contextlib.asynccontextmanager
async def a_saver(ours: Ours, serde: JsonPlusSerializer, asynchronous: bool) -> AsyncIterator[BaseCheckpointSaver]:
    if asynchronous:
        connection = await psycopg.AsyncConnection.connect(
            ours.conninfo, autocommit=True, prepare_threshold=0, row_factory=dict_row
        )
        async with connection:
            yield AsyncPostgresSaver(connection, serde=serde)
    else:
        # Graphs call the synchronous methods; the scenarios list and delete by the others.
        saver = synchronous(ours.conninfo, serde, Threaded)
        with saver.conn:
            yield saver


@group.test
async def setup_by_a_role_without_create_is_refused_and_changes_nothing(ours: Ours) -> None:
    """Postgres asks for CREATE on the schema before it sees that CREATE TABLE IF NOT EXISTS has nothing to do."""
    with PostgresSaver.from_conn_string(ours.conninfo) as saver:
        try:
            saver.setup()
        except psycopg.errors.InsufficientPrivilege:
            pass
        else:
            raise AssertionError("the role may create tables")
    ours.nothing_changed()


@group.test
async def setup_by_a_role_with_create_changes_nothing(ours: Ours) -> None:
    grant = sql.SQL("{} create on schema langgraph {} {}")
    role = sql.Identifier(ours.role)
    with psycopg.connect(ours.url, autocommit=True) as admin:
        admin.execute(grant.format(sql.SQL("grant"), sql.SQL("to"), role))
        try:
            await set_up(ours.conninfo)
        finally:
            admin.execute(grant.format(sql.SQL("revoke"), sql.SQL("from"), role))
    ours.nothing_changed()


@group.test
async def setup_through_a_schema_of_its_own_needs_no_create_on_ours(ours: Ours) -> None:
    with psycopg.connect(ours.url, autocommit=True) as admin:
        admin.execute(database.documented("create schema langgraph_setup", ours.role))
        try:
            conninfo = database.conninfo(ours.url, search_path="langgraph_setup,langgraph", role=ours.role)
            await set_up(conninfo)
            ours.nothing_changed()
            saver = synchronous(conninfo)
            with saver.conn:
                graph = graphs.line(saver)
                graph.invoke({"items": ["through the door"]}, {"configurable": {"thread_id": "door"}})
                assert_reads_the_same(Peer(ours.bridge, ours.url), graph, "door")
        finally:
            admin.execute("drop schema langgraph_setup cascade")


async def set_up(conninfo: str) -> None:
    with PostgresSaver.from_conn_string(conninfo) as saver:
        saver.setup()
    async with AsyncPostgresSaver.from_conn_string(conninfo) as saver:
        await saver.setup()


def add_scenario(name: str, scenario: graphs.Scenario) -> None:
    async def runs_and_go_reads_it(ours: Ours) -> None:
        for asynchronous in (False, True):
            serde = graphs.Savers(lambda _: None).serde
            async with a_saver(ours, serde, asynchronous) as saver:
                expected, got = graphs.Run(InMemorySaver(serde=serde), asynchronous), graphs.Run(saver, asynchronous)
                await scenario(expected)
                await scenario(got)
                await graphs.compare(expected, got)
            await asyncio.to_thread(check_what_go_reads, ours, serde, got)

    runs_and_go_reads_it.__name__ = name
    group.test(runs_and_go_reads_it)


def check_what_go_reads(ours: Ours, serde: JsonPlusSerializer, run: graphs.Run) -> None:
    peer = Peer(ours.bridge, ours.url, serde=serde)
    saver = synchronous(ours.conninfo, serde)
    with saver.conn:
        for thread_id, graph in run.threads().values():
            config = {"configurable": {"thread_id": thread_id}}
            assert_lists_the_same(peer.list(thread_id), list(saver.list(config)))
            # Of a functional workflow Go reads the checkpoints; its snapshot is made of what the workflow returns.
            if graph is not None and "__end__" not in graph.channels:
                graph.checkpointer = saver
                assert_reads_the_same(peer, graph, thread_id)


for scenario_name, scenario_function in graphs.scenarios.items():
    if scenario_name not in graphs.group.beyond_postgres_saver:
        add_scenario(scenario_name, scenario_function)


async def run_suite(ours: Ours) -> list[Count]:
    """LangGraph's own suite, as far as the savers implement it."""

    @checkpointer_test(name="PostgresSaver")
    async def of_postgres_saver():
        saver = synchronous(ours.conninfo, kind=Threaded)
        with saver.conn:
            yield saver

    @checkpointer_test(name="AsyncPostgresSaver")
    async def of_async_postgres_saver():
        async with AsyncPostgresSaver.from_conn_string(ours.conninfo) as saver:
            yield saver

    wholes = []
    for registered in (of_postgres_saver, of_async_postgres_saver):
        name = f"official suite of {registered.name} on our tables"
        counts, whole = await official.run_with(registered, name, beyond=["delete_for_runs", "copy_thread"])
        whole.doubts += [f"{count.name}: {doubt}" for count in counts for doubt in count.doubts]
        wholes.append(whole)
    return wholes


async def run(bridge: Bridge, program: str) -> list[Count]:
    with database.runtime_role(bridge) as role:
        ours = Ours(bridge, program, role)
        count = await group.run("their savers on our tables, read by Go", ours, variants={"": ()})
        for name, reason in graphs.group.beyond_postgres_saver.items():
            print(f"  {count.name}: without {name}: {reason}")
        return [*await run_suite(ours), count]
