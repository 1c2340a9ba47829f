"""Record what LangGraph itself says about stored checkpoints, for the tests of package checkpoint.

    python3 -m venv /path/to/venv
    /path/to/venv/bin/pip install -r requirements.txt
    /path/to/venv/bin/python generate.py            write langgraph.json beside this script

Each scenario runs a real graph on an InMemorySaver. At each of its moments the
whole store is dumped as it is (every value as type and base64), together with
the StateSnapshots LangGraph makes of it. An update is a moment before, the
arguments of update_state, and the moment after. reducers.json has inputs and
results of LangGraph's message reducers. IDs, times and the fractions of
versions differ from run to run; nothing the tests compare depends on them.
"""

import base64
import functools
import importlib.metadata
import json
import operator
import pathlib
import uuid
from typing import Annotated, Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.pregel._algo import task_path_str
from langgraph.types import Command, Interrupt, Overwrite, Send, interrupt
from typing_extensions import TypedDict

SERDE = JsonPlusSerializer()


def typed(value):
    kind, data = SERDE.dumps_typed(value)
    return {"type": kind, "data": base64.b64encode(data).decode()}


def stored(pair):
    return {"type": pair[0], "data": base64.b64encode(pair[1]).decode()}


# --- dumping -----------------------------------------------------------------


def dump_store(saver, thread):
    checkpoints, blobs, writes = [], [], []
    for namespace, by_id in saver.storage[thread].items():
        for id, (checkpoint, metadata, parent) in by_id.items():
            checkpoints.append({
                "namespace": namespace, "id": id, "parent": parent or "",
                "checkpoint": stored(checkpoint), "metadata": stored(metadata),
            })
    for (of, namespace, channel, version), pair in saver.blobs.items():
        if of == thread and pair[0] != "empty":
            blobs.append({
                "namespace": namespace, "channel": channel, "version": version, "value": stored(pair),
            })
    for (of, namespace, id), rows in saver.writes.items():
        if of != thread:
            continue
        for (task, index), (_, channel, pair, path) in rows.items():
            writes.append({
                "namespace": namespace, "checkpoint": id, "task": task, "index": index,
                "channel": channel, "path": path, "value": stored(pair),
            })
    return {"checkpoints": checkpoints, "blobs": blobs, "writes": writes}


def dump_task(task):
    return {
        "id": task.id, "name": task.name, "path": task_path_str(task.path), "error": task.error,
        "interrupts": typed(list(task.interrupts)),
        "result": None if task.result is None else typed(task.result),
    }


def dump_snapshot(snapshot, live):
    where = snapshot.config["configurable"]
    return {
        "namespace": where["checkpoint_ns"], "id": where["checkpoint_id"], "live": live,
        "values": typed(snapshot.values), "next": list(snapshot.next),
        "tasks": [dump_task(task) for task in snapshot.tasks],
        "interrupts": typed(list(snapshot.interrupts)),
        "metadata": typed(snapshot.metadata), "created_at": snapshot.created_at,
        "parent": snapshot.parent_config["configurable"]["checkpoint_id"] if snapshot.parent_config else "",
    }


def dump_graph(graph):
    defaults = {}
    for name, channel in graph.channels.items():
        if type(channel).__name__ in ("BinaryOperatorAggregate", "DeltaChannel"):
            defaults[name] = typed(channel.typ())
    return {
        "nodes": [{"name": name, "triggers": list(node.triggers)} for name, node in graph.nodes.items()],
        "defaults": defaults,
        "delta": [name for name, channel in graph.channels.items() if isinstance(channel, DeltaChannel)],
        "root": "__root__" in graph.channels,
    }


class Scenario:
    """A graph with a store of its own. `subgraphs` are the graphs of nodes, to describe their namespaces with."""

    def __init__(self, name, build, reducers=(), subgraphs=None, **compile):
        self.name, self.reducers = name, dict(reducers)
        self.saver = InMemorySaver()
        self.graph = build.compile(checkpointer=self.saver, **compile)
        self.subgraphs = subgraphs or {}
        self.thread = "thread"
        self.config = {"configurable": {"thread_id": self.thread}}
        self.moments, self.updates = [], []

    def run(self, input, config=None, **options):
        try:
            self.graph.invoke(input, config or self.config, **options)
        except RuntimeError as error:
            assert str(error) == "boom", error
        return self

    def history(self):
        return list(self.graph.get_state_history(self.config))

    def before(self, node):
        """The newest checkpoint from which `node` is to run."""
        return next(s.config for s in self.history() if node in s.next)

    def moment(self, name):
        snapshots = []
        for namespace in self.saver.storage[self.thread]:
            config = {"configurable": {"thread_id": self.thread, "checkpoint_ns": namespace}}
            reader = self.graph
            if namespace:
                # A subgraph's own snapshots, as its compiled graph gives them.
                reader = self.subgraphs[namespace.split(":")[0]].compile(checkpointer=self.saver)
                reader = Reader(reader, self.saver)
            snapshots.append(dump_snapshot(reader.get_state(config), True))
            for snapshot in reader.get_state_history(config):
                snapshots.append(dump_snapshot(snapshot, False))
                addressed = reader.get_state(snapshot.config)
                assert addressed == snapshot, (addressed, snapshot)
        self.moments.append({"name": name, "store": dump_store(self.saver, self.thread), "snapshots": snapshots})
        return self

    def update(self, name, values, as_node=None, config=None, next=(), sends=()):
        """`next` and `sends` are what the node's edges do: the tests give them, as nothing stored tells them."""
        before = dump_store(self.saver, self.thread)
        config = config or self.config
        written = self.graph.update_state(config, values, as_node)
        self.updates.append({
            "name": name, "before": before, "after": dump_store(self.saver, self.thread),
            "id": config["configurable"].get("checkpoint_id", ""),
            "values": None if values is None else typed(values), "as_node": as_node or "",
            "next": list(next), "sends": typed(list(sends)),
            "written": written["configurable"]["checkpoint_id"],
            "snapshot": dump_snapshot(self.graph.get_state(written), False),
        })
        return self

    def dump(self):
        graphs = {"": dump_graph(self.graph)}
        for node, build in self.subgraphs.items():
            graphs[node] = dump_graph(build.compile())
        return {
            "name": self.name, "thread": self.thread, "reducers": self.reducers, "graphs": graphs,
            "moments": self.moments, "updates": self.updates,
        }


class Reader:
    """Reads the checkpoints of a nested namespace with the subgraph's own nodes and channels."""

    def __init__(self, graph, saver):
        self.graph, self.saver = graph, saver

    def get_state(self, config):
        saved = self.saver.get_tuple(config)
        if "checkpoint_id" in config["configurable"]:
            saved = saved._replace(config={"configurable": {
                key: value for key, value in saved.config["configurable"].items()
                if key in ("thread_id", "checkpoint_ns", "checkpoint_id")
            }})
        return self.graph._prepare_state_snapshot(
            config, saved, saver=self.saver, live="checkpoint_id" not in config["configurable"])

    def get_state_history(self, config):
        for saved in self.saver.list(config):
            yield self.graph._prepare_state_snapshot(saved.config, saved, saver=self.saver)


# --- graphs ------------------------------------------------------------------


class Log(TypedDict):
    foo: str
    bar: Annotated[list, operator.add]


def log(name, **more):
    return lambda state: {"foo": name, "bar": [name], **more}


def chain(schema, **nodes):
    build = StateGraph(schema)
    last = START
    for name, node in nodes.items():
        build.add_node(name, node)
        build.add_edge(last, name)
        last = name
    build.add_edge(last, END)
    return build


APPEND = {"bar": "append"}


def sequential():
    s = Scenario("sequential", chain(Log, node_a=log("a"), node_b=log("b")), APPEND)
    s.run({"foo": "", "bar": []}).moment("after one run")
    s.run({"foo": "again"}).moment("after two runs")
    return s


def boom(state):
    raise RuntimeError("boom")


def diamond(**nodes):
    build = StateGraph(Log)
    for name in ("left", "right", "join"):
        build.add_node(name, nodes.get(name, log(name)))
    build.add_edge(START, "left")
    build.add_edge(START, "right")
    build.add_edge(["left", "right"], "join")
    build.add_edge("join", END)
    return build


def parallel():
    s = Scenario("parallel with a join", diamond(), APPEND)
    s.run({"foo": "", "bar": []}, durability="sync") if False else None
    build = diamond()
    s = Scenario("parallel with a join", StateGraph(Log) if False else build, APPEND)
    # Only bar has a reducer, so that foo must be written by one of the two.
    build.nodes["left"].runnable.func = lambda state: {"bar": ["left"]}
    s = Scenario("parallel with a join", build, APPEND)
    s.run({"foo": "", "bar": []}).moment("finished")
    return s
