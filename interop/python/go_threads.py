"""The other way: threads that Go wrote, with values that Go made, go on in Python's graphs on LangGraph's PostgresSaver.

After every turn of Python's, Go has to read the same states as Python.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.pregel import Pregel

import database
import graphs
from bridge import Bridge
from compare import assert_same
from groups import Count, Group
from own import synchronous
from peers import Peer, assert_lists_the_same, assert_reads_the_same

group = Group()

Build = Callable[[PostgresSaver], Pregel]


class Shared:
    """Our database, with Go on one side and PostgresSaver, under a role without DDL rights, on the other."""

    def __init__(self, bridge: Bridge, conninfo: str) -> None:
        self.bridge, self.conninfo, self.url = bridge, conninfo, database.url_of(bridge)

    def open(self, build: Build, serde: JsonPlusSerializer | None = None, key: bytes = b"") -> Thread:
        return Thread(self, build, serde, key)


class Thread:
    """A thread and the graph it is of, in both languages. Use it in a with statement."""

    def __init__(self, shared: Shared, build: Build, serde: JsonPlusSerializer | None, key: bytes) -> None:
        self._saver = synchronous(shared.conninfo, serde)
        self.graph = build(self._saver)
        self.go = Peer(shared.bridge, shared.url, key=key)
        self.id = str(uuid.uuid4())
        self.config: RunnableConfig = {"configurable": {"thread_id": self.id}}

    def __enter__(self) -> Thread:
        return self

    def __exit__(self, *_: object) -> None:
        self._saver.conn.close()

    def write(
        self, values: dict[str, Any], as_node: str, then: tuple[str, ...] = (), config: RunnableConfig | None = None,
        frequency: dict[str, int] | None = None,
    ) -> RunnableConfig:
        """A checkpoint by Go."""
        return self.go.update(self.graph, config or self.config, values, as_node, then, frequency)

    def agree(self) -> int:
        """Fail unless both read the same; how many states there are."""
        assert_lists_the_same(self.go.list(self.id), list(self._saver.list(self.config)))
        return assert_reads_the_same(self.go, self.graph, self.id)


def question(number: int) -> AIMessage:
    call = {"name": "quote", "args": {"age": 35, "rate": 1.0, "tags": ["a", None]}, "id": f"call {number}"}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    return AIMessage("", id=f"ai {number}", tool_calls=[call], usage_metadata=usage)


@group.test
async def messages_and_tool_calls_of_go_are_answered_by_pythons_tool(shared: Shared) -> None:
    with shared.open(graphs.chat) as thread:
        begun = [SystemMessage("You sell insurances.", id="s"), HumanMessage("medical? 线 🧶", id="1"), question(2)]
        thread.write({"messages": begun}, "model", ("tool",))
        state = thread.graph.get_state(thread.config)
        assert_same("what Python reads", [state.values["messages"], state.next], [begun, ("tool",)])
        thread.agree()
        result = thread.graph.invoke(None, thread.config)
        assert_same("the begin", result["messages"][:3], begun)
        graphs.equal([m.content for m in result["messages"][3:]], ["42.50", "answer 4"])
        thread.graph.invoke({"messages": [HumanMessage("and for two?", id="6")]}, thread.config)
        thread.agree()
        thread.write({"messages": [RemoveMessage("6"), HumanMessage("medical, for me", id="1")]}, "model")
        messages = thread.graph.get_state(thread.config).values["messages"]
        graphs.equal(messages[1].content, "medical, for me")
        assert "6" not in [m.id for m in messages], "Go's removal of a message is not seen"
        thread.agree()


@group.test
async def input_of_go_runs_in_python(shared: Shared) -> None:
    with shared.open(graphs.line) as thread:
        thread.write({"items": ["from go"], "answer": {"n": 2**60, "f": 1.0}}, "__input__")
        graphs.equal(thread.graph.get_state(thread.config).next, ("__start__",))
        graphs.equal(thread.graph.invoke(None, thread.config)["items"],
                     ["from go", "first", "second", "third after not asked"])
        thread.agree()


@group.test
async def python_waits_and_go_answers_in_the_place_of_a_node(shared: Shared) -> None:
    with shared.open(lambda saver: graphs.line(saver, ask=True)) as thread:
        thread.graph.invoke({"items": []}, thread.config)
        waiting = thread.go.states(thread.graph, thread.id)[0]
        graphs.equal([waiting["next"], waiting["interrupts"][0].value["question"]], [["second"], "go on?"])
        thread.write({"items": ["by go"], "answer": b"\x00\xff"}, "second", ("third",))
        graphs.equal(thread.graph.invoke(None, thread.config)["items"], ["first", "by go", "third after b'\\x00\\xff'"])
        thread.agree()


@group.test
async def forks_by_go_go_on_in_python_and_leave_the_old_branch(shared: Shared) -> None:
    with shared.open(graphs.line) as thread:
        thread.graph.invoke({"items": ["one"]}, thread.config)
        before = thread.graph.get_state(thread.config)
        history = list(thread.graph.get_state_history(thread.config))
        middle = next(s for s in history if s.next == ("second",))
        fork = thread.go.fork(middle.config)
        forked = thread.graph.get_state(fork)
        assert_same("the fork", [forked.values, forked.next, forked.metadata["source"]], [middle.values, ("second",), "fork"])
        result = thread.graph.invoke(None, fork)
        assert_same("the new branch", result["items"], ["one", "first", "second", "third after not asked"])
        rewritten = thread.write({"items": ["go's own"], "answer": "go"}, "second", ("third",), config=middle.config)
        graphs.equal(thread.graph.invoke(None, rewritten)["items"], ["one", "first", "go's own", "third after go"])
        assert_same("the old branch", thread.graph.get_state(before.config).values, before.values)
        graphs.equal(thread.agree(), 1 + len(history) + 3 + 2)


@group.test
async def delta_channels_of_go_are_rebuilt_in_python(shared: Shared) -> None:
    for frequency in ({}, {"log": 2, "notes": 3}, {"log": 1}):
        with shared.open(graphs.growing) as thread:
            placed = [
                thread.write({"log": [f"go {n}", n], "notes": [{"by": "go", "n": n}], "turn": n}, "close", frequency=frequency)
                for n in range(7)
            ]
            values = thread.graph.get_state(thread.config).values
            assert_same("the log", values["log"], [item for n in range(7) for item in (f"go {n}", n)])
            assert_same("the notes", values["notes"], [{"by": "go", "n": n} for n in range(7)])
            thread.agree()
            result = thread.graph.invoke({"turn": 9, "log": ["input"]}, thread.config)
            assert_same("the log grows", result["log"][:15], [*values["log"], "input"])
            graphs.equal(len(result["log"]), 14 + 6)
            thread.agree()
            branch = thread.write({"log": ["branch"], "turn": 50}, "close", config=placed[2], frequency=frequency)
            result = thread.graph.invoke({"turn": 51, "log": ["on"]}, branch)
            assert_same("the branch", result["log"][:8], [*values["log"][:6], "branch", "on"])
            thread.agree()


@group.test
async def encrypted_threads_are_shared(shared: Shared) -> None:
    key = b"0123456789abcdef0123456789abcdef"
    serde = EncryptedSerializer.from_pycryptodome_aes(key=key)
    with shared.open(graphs.chat, serde, key) as thread:
        begun = [HumanMessage("the secret of Go", id="1"), question(1)]
        thread.write({"messages": begun}, "model", ("tool",))
        assert_same("what Python decrypts", thread.graph.get_state(thread.config).values["messages"], begun)
        thread.graph.invoke(None, thread.config)
        thread.graph.invoke({"messages": [HumanMessage("the secret of Python", id="9")]}, thread.config)
        thread.agree()
        with psycopg.connect(shared.url) as connection:
            rows = []
            for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
                found = connection.execute(f"select * from langgraph.{table} where thread_id = %s", [thread.id]).fetchall()
                assert found, f"{table} is empty"
                rows += found
            leaks = [row for row in rows if "secret" in repr(row)]
            assert not leaks, f"the secrets stand in {leaks}"
            types = {row[4] for row in rows if isinstance(row[4], str) and "+" in row[4]}
            assert_same("the types", types, {"msgpack+aes", "null+aes"})


async def run(bridge: Bridge, program: str) -> list[Count]:
    with database.runtime_role(bridge) as role:
        shared = Shared(bridge, database.conninfo(database.url_of(bridge), search_path="langgraph", role=role))
        return [await group.run("Go's threads in Python", shared, variants={"": ()})]
