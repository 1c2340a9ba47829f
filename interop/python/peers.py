"""Go as another program on the same database: what it reads there has to be what LangGraph reads, state by state."""

from __future__ import annotations

import base64
import operator
from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.pregel import Pregel
from langgraph.pregel._algo import task_path_str
from langgraph.types import StateSnapshot

from bridge import Bridge
from compare import assert_same
from described import describe
from saver import BridgeSaver

Json = dict[str, Any]


class Peer:
    """The Go side. Values that it reads are decoded there, and encoded again to come here."""

    def __init__(
        self, bridge: Bridge, database_url: str, schema: str = "langgraph", *, serde: JsonPlusSerializer | None = None,
        key: bytes = b"",
    ) -> None:
        self._bridge = bridge
        self._codec = BridgeSaver(bridge, serde=serde)
        self._where = {"database_url": database_url, "schema": schema, "key": base64.b64encode(key).decode()}

    def _call(self, method: str, **params: Any) -> Any:
        return self._bridge.call(method, {**self._where, **params}).result()

    def list(self, thread_id: str | None = None) -> list[CheckpointTuple]:
        """Every checkpoint of a thread, or of all, in every namespace."""
        return [self._codec._tuple(answer) for answer in self._call("peer_list", thread_id=thread_id)]

    def states(self, graph: Pregel, thread_id: str) -> list[Json]:
        """How a thread stands, and then every state it had, newest first."""
        return [self._state(answer) for answer in self._call("peer_history", thread_id=thread_id, graph=self._graph(graph))]

    def update(
        self, graph: Pregel, config: RunnableConfig, values: Json, as_node: str, then: Iterable[str] = (),
        frequency: Json | None = None,
    ) -> RunnableConfig:
        """Write a checkpoint, with values that Go makes, as if a node had written them."""
        written = self._call(
            "peer_update", config=at(config), graph=self._graph(graph), as_node=as_node, next=list(then),
            values={channel: describe(value) for channel, value in values.items()}, snapshot_frequency=frequency or {},
        )
        return {"configurable": written}

    def fork(self, config: RunnableConfig) -> RunnableConfig:
        return {"configurable": self._call("peer_fork", config=at(config))}

    def _graph(self, graph: Pregel) -> Json:
        """What Go has to be told about a graph, because no checkpoint says it."""
        # Never encrypted: it is no value of the database.
        plain = JsonPlusSerializer()

        def typed(value: Any) -> Json:
            kind, data = plain.dumps_typed(value)
            return {"type": kind, "data": base64.b64encode(data).decode()}

        kept = {n: c for n, c in graph.channels.items() if isinstance(c, (BinaryOperatorAggregate, DeltaChannel))}
        return {
            "nodes": [{"name": name, "triggers": list(node.triggers)} for name, node in graph.nodes.items()],
            "defaults": {name: typed(channel.typ()) for name, channel in kept.items()},
            "reducers": {name: reducer(channel) for name, channel in kept.items()},
            "delta": [name for name, channel in kept.items() if isinstance(channel, DeltaChannel)],
        }

    def _state(self, answer: Json) -> Json:
        load = self._codec._load
        return {
            "config": answer["config"], "parent": answer["parent_config"], "next": answer["next"],
            "values": {channel: load(value) for channel, value in answer["values"].items()},
            "interrupts": load(answer["interrupts"]), "metadata": answer["metadata"], "created_at": answer["created_at"],
            "tasks": [
                {**task, "error": load(task["error"]), "interrupts": load(task["interrupts"]), "result": load(task["result"])}
                for task in answer["tasks"]
            ],
        }


def reducer(channel: BinaryOperatorAggregate | DeltaChannel) -> str:
    if isinstance(channel, BinaryOperatorAggregate) and channel.operator is not operator.add:
        assert "add_messages" in channel.operator.__name__, f"Go has no {channel.operator}"
        return "messages"
    return "append"


def at(config: RunnableConfig) -> Json:
    where = config["configurable"]
    return {key: where.get(key, "") for key in ("thread_id", "checkpoint_ns", "checkpoint_id")}


def as_python_has_it(graph: Pregel, snapshot: StateSnapshot) -> Json:
    """A snapshot of LangGraph's in the form of Peer.states."""
    return {
        "config": at(snapshot.config), "parent": at(snapshot.parent_config) if snapshot.parent_config else None,
        "values": snapshot.values, "next": list(snapshot.next), "interrupts": list(snapshot.interrupts),
        "metadata": snapshot.metadata, "created_at": snapshot.created_at,
        "tasks": [
            {
                "id": task.id, "name": task.name, "path": task_path_str(task.path), "error": task.error,
                "interrupts": list(task.interrupts), "result": task.result,
            }
            for task in snapshot.tasks
        ],
    }


def assert_reads_the_same(peer: Peer, graph: Pregel, thread_id: str) -> int:
    """Fail unless Go has the same states of a thread as the graph; how many there are."""
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    want = [graph.get_state(config), *graph.get_state_history(config)]
    got = peer.states(graph, thread_id)
    assert_same("the checkpoints of the states", [s["config"] for s in got], [at(s.config) for s in want])
    for have, snapshot in zip(got, want, strict=True):
        assert_same(f"the state at {have['config']}", have, as_python_has_it(graph, snapshot))
    return len(want)


def assert_lists_the_same(got: list[CheckpointTuple], want: list[CheckpointTuple]) -> None:
    """Fail unless both have the same checkpoints, with their values, metadata, parents and pending writes."""

    def by_place(tuples: list[CheckpointTuple]) -> dict[str, Any]:
        # Without the key where its value is null: Go does not tell the two apart, and Python's runtime neither.
        return {
            repr(at(t.config)): [
                {k: v for k, v in t.checkpoint.items() if (k, v) != ("updated_channels", None)}, t.metadata,
                at(t.parent_config) if t.parent_config else None, t.pending_writes,
            ]
            for t in tuples
        }

    got_places, want_places = by_place(got), by_place(want)
    assert_same("the places of the checkpoints", sorted(got_places), sorted(want_places))
    for place, wanted in want_places.items():
        assert_same(f"the checkpoint at {place}", got_places[place], wanted)
