"""Record what LangGraph itself says about stored checkpoints, for the tests of package checkpoint.

    python3 -m venv /path/to/venv
    /path/to/venv/bin/pip install -r requirements.txt
    /path/to/venv/bin/python generate.py            write langgraph.json.gz beside this script

Each scenario runs a real graph on an InMemorySaver. At each of its moments the
whole store is dumped as it is (every value as type and base64), together with
the StateSnapshots LangGraph makes of it. An update is a moment before, the
arguments of update_state, and the moment after. reducers.json has inputs and
results of LangGraph's message reducers. IDs, times and the fractions of
versions differ from run to run; nothing the tests compare depends on them.
"""

import base64
import gzip
import importlib.metadata
import json
import operator
import pathlib
from typing import Annotated

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.pregel._algo import task_path_str
from langgraph.types import Command, Overwrite, Send, interrupt
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

    def update(self, name, values, as_node=None, config=None, next=(), sends=(), join=None):
        """`next`, `sends` and `join` (a channel) are what the node's edges do: nothing stored tells the tests."""
        before = dump_store(self.saver, self.thread)
        config = config or self.config
        written = self.graph.update_state(config, values, as_node)
        self.updates.append({
            "name": name, "before": before, "after": dump_store(self.saver, self.thread),
            "id": config["configurable"].get("checkpoint_id", ""),
            "values": None if values is None else typed(values), "as_node": as_node or "",
            "next": list(next), "join": join or "", "sends": typed(list(sends)),
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


APPEND = {"bar": "append"}


def log(name):
    return lambda state: {"foo": name, "bar": [name]}


def only_bar(name):
    return lambda state: {"bar": [name]}


def boom(state):
    raise RuntimeError("boom")


def ask(*questions):
    """A node that asks its questions one after the other."""

    def node(state):
        return {"bar": [interrupt(question) for question in questions]}

    return node


def chain(schema, **nodes):
    build = StateGraph(schema)
    last = START
    for name, node in nodes.items():
        build.add_node(name, node)
        build.add_edge(last, name)
        last = name
    build.add_edge(last, END)
    return build


def diamond(left, right, defer=False):
    build = StateGraph(Log)
    build.add_node("left", left)
    build.add_node("right", right)
    build.add_node("join", log("join"), defer=defer)
    build.add_edge(START, "left")
    build.add_edge(START, "right")
    build.add_edge(["left", "right"], "join")
    build.add_edge("join", END)
    return build


INPUT = {"foo": "", "bar": []}


def sequential():
    s = Scenario("sequential", chain(Log, node_a=log("a"), node_b=log("b")), APPEND)
    s.run(INPUT).moment("after one run")
    return s.run({"foo": "again"}).moment("after two runs")


def breakpoint_before():
    s = Scenario("stopped before a node", chain(Log, node_a=log("a"), node_b=log("b")), APPEND,
                 interrupt_before=["node_b"])
    s.run(INPUT).moment("stopped")
    return s.run(None).moment("resumed")


def parallel():
    s = Scenario("parallel with a join", diamond(only_bar("left"), log("right")), APPEND)
    return s.run(INPUT).moment("finished")


def deferred():
    s = Scenario("deferred join", diamond(only_bar("left"), ask("go on?"), defer=True), APPEND)
    s.run(INPUT).moment("one branch waits")
    return s.run(Command(resume="yes")).moment("finished")


def deferred_node():
    build = StateGraph(Log)
    for name, node in {"first": only_bar("first"), "long": only_bar("long"), "longer": only_bar("longer")}.items():
        build.add_node(name, node)
    build.add_node("last", log("last"), defer=True)
    for start, end in ((START, "first"), ("first", "long"), ("long", "longer"), ("first", "last"), ("longer", "last")):
        build.add_edge(start, end)
    return Scenario("deferred node", build, APPEND).run(INPUT).moment("finished")


def one_of_two_fails():
    s = Scenario("one of two parallel nodes fails", diamond(log("left"), boom), APPEND)
    s.run(INPUT).moment("failed")
    return s.run(None).moment("failed again")


def one_of_two_asks():
    s = Scenario("one of two parallel nodes asks", diamond(log("left"), ask("first?", "second?")), APPEND)
    s.run(INPUT).moment("first question")
    s.run(Command(resume=1)).moment("second question")
    s.run(Command(resume=2)).moment("answered")
    return s


def both_ask():
    s = Scenario("two parallel nodes ask", diamond(ask("left?"), ask("right?")), APPEND)
    s.run(INPUT).moment("two questions")
    first = s.graph.get_state(s.config).interrupts[0]
    s.run(Command(resume={first.id: "one answer"})).moment("one answered")
    return s


def null_writes():
    s = Scenario("command with an update", chain(Log, node_a=log("a"), node_b=ask("q?")), APPEND)
    s.run(INPUT)
    s.graph.nodes["node_b"].bound.func = boom
    return s.run(Command(resume="yes", update={"foo": "from the command", "bar": ["command"]})).moment("failed")


def conditional():
    build = StateGraph(Log)
    for name in ("even", "odd", "start"):
        build.add_node(name, log(name))
    build.add_edge(START, "start")
    build.add_conditional_edges("start", lambda state: "odd" if len(state["bar"]) % 2 else "even", ["even", "odd"])
    return Scenario("conditional", build, APPEND).run(INPUT).moment("finished")


def fan_out(worker):
    build = StateGraph(Log)
    build.add_node("plan", only_bar("plan"))
    build.add_node("work", worker)
    build.add_node("sum", log("sum"))
    build.add_edge(START, "plan")
    build.add_conditional_edges("plan", lambda state: [Send("work", {"n": n}) for n in range(3)], ["work"])
    build.add_edge("work", "sum")
    return build


def edge_and_join():
    """The first time the node runs, nobody has arrived at its join, and its task id is that of a graph not known."""
    build = StateGraph(Log)
    build.add_node("one", log("one"))
    build.add_node("two", only_bar("two"))
    build.add_node("both", ask("q?"))
    build.add_edge(START, "both")
    build.add_edge(["one", "two"], "both")
    return Scenario("a node with an edge and a join", build, APPEND).run(INPUT).moment("stopped")


def send():
    def work(state):
        if state["n"] == 1:
            interrupt({"n": state["n"]})
        if state["n"] == 2:
            return None
        return {"bar": [state["n"]]}

    s = Scenario("send", fan_out(work), APPEND)
    s.run(INPUT).moment("one of three waits")
    return s.run(Command(resume=1)).moment("finished")


def write_twice():
    def node(state):
        return [Command(update=update) for update in ({"bar": ["one"]}, {"bar": ["two"]}, {"foo": None})]

    build = chain(Log, node_a=node, node_b=ask("q?"))
    return Scenario("several writes to a channel", build, APPEND).run(INPUT).moment("stopped")


def wide():
    """Task ids of long namespaces and many triggers hash more than 240 bytes."""
    names = [f"a_rather_long_name_of_a_node_{i:02d}" for i in range(9)]
    build = StateGraph(Log)
    for name in names:
        build.add_node(name, only_bar(name))
        build.add_edge(START, name)
    build.add_node("join", ask("q?"))
    build.add_edge(names, "join")
    return Scenario("a join of nine", build, APPEND).run(INPUT).moment("stopped")


def out_of_order():
    """Writes apply in the order of task paths, not in that of the nodes."""
    build = StateGraph(Log)
    for name, node in {"z": only_bar("z"), "a": only_bar("a"), "m": ask("q?")}.items():
        build.add_node(name, node)
        build.add_edge(START, name)
    return Scenario("two of three are done", build, APPEND).run(INPUT).moment("stopped")


def root_state():
    build = StateGraph(Annotated[list, operator.add])
    build.add_node("node_a", lambda state: ["a"])
    build.add_node("node_b", lambda state: [interrupt("q?")])
    build.add_edge(START, "node_a")
    build.add_edge("node_a", "node_b")
    s = Scenario("state without names", build, {"__root__": "append"})
    return s.run(["input"]).moment("stopped")


def nested():
    inner = chain(Log, deep=ask("deep?"), deeper=log("deeper"))
    outer = chain(Log, before=log("before"), sub=inner.compile(), after=log("after"))
    s = Scenario("subgraph", outer, APPEND, subgraphs={"sub": inner})
    s.run(INPUT).moment("the subgraph waits")
    return s.run(Command(resume="yes")).moment("finished")


class Chat(TypedDict):
    messages: Annotated[list, add_messages]


def chat():
    s = Scenario("messages", chain(
        Chat,
        model=lambda state: {"messages": [AIMessage("hello", id="2")]},
        cut=lambda state: {"messages": [RemoveMessage("1"), HumanMessage("instead", id="3")]},
        ask=lambda state: {"messages": interrupt("q?")},
    ), {"messages": "add_messages"})
    return s.run({"messages": [HumanMessage("hi", id="1")]}).moment("stopped")


# --- delta channels ----------------------------------------------------------


def extend(state, writes):
    return state + [item for write in writes for item in write]


class Delta(TypedDict):
    foo: str
    bar: Annotated[list, DeltaChannel(extend, snapshot_frequency=3)]
    messages: Annotated[list, DeltaChannel(_messages_delta_reducer)]


DELTAS = {"bar": "append", "messages": "delta_messages"}


def say(name):
    return lambda state: {"foo": name, "bar": [name], "messages": [AIMessage(name, id=f"{name}-{len(state['bar'])}")]}


def delta_graph():
    return chain(Delta, node_a=say("a"), node_b=say("b"), node_c=only_bar("c"))


DELTA_INPUT = {"foo": "", "bar": ["in"], "messages": [HumanMessage("hi", id="h")]}


def delta():
    s = Scenario("delta channels", delta_graph(), DELTAS)
    s.run(DELTA_INPUT).moment("one run")
    s.run(DELTA_INPUT)
    s.run({"messages": [RemoveMessage("a-1")]}).moment("three runs")
    return s


def delta_overwrite():
    s = Scenario("delta channels overwritten", chain(
        Delta, node_a=say("a"), node_b=lambda state: {"bar": Overwrite(["fresh"])}, node_c=only_bar("c"),
        node_d=only_bar("d")), DELTAS)
    return s.run(DELTA_INPUT).moment("finished")


def delta_exit():
    s = Scenario("delta channels saved on exit", delta_graph(), DELTAS)
    s.run(DELTA_INPUT, durability="exit").moment("one run")
    return s.run(DELTA_INPUT, durability="exit").moment("two runs")


def delta_parallel():
    build = StateGraph(Delta)
    for name in ("z", "a", "m"):
        build.add_node(name, only_bar(name))
        build.add_edge(START, name)
    build.add_node("last", ask("q?"))
    build.add_edge(["z", "a", "m"], "last")
    return Scenario("delta channels written in parallel", build, DELTAS).run(DELTA_INPUT).moment("stopped")


# --- updates -----------------------------------------------------------------


def updates():
    s = Scenario("updates", chain(Log, node_a=log("a"), node_b=log("b"), node_c=log("c")), APPEND)
    s.update("a new thread", {"foo": "new", "bar": ["new"]}, next=["node_a"])
    s.run(None)
    s.update("the head of a finished thread", {"bar": ["u"]}, "node_c")
    s.update("as the node that ran last", {"foo": "v"}, "node_b", next=["node_c"])
    past = s.before("node_b")
    s.update("a past checkpoint", {"foo": "w", "bar": ["w"]}, "node_a", config=past, next=["node_b"])
    s.moment("updated").run(None).moment("gone on from the branch")
    past = s.before("node_b")
    s.update("a past checkpoint as its last node", {"foo": "x"}, config=past, next=["node_b"])
    s.update("all tasks are dropped", None, END)
    s.update("overwriting", {"bar": Overwrite(["over"])}, "node_a", next=["node_b"])
    s.update("as input", {"foo": "i"}, "__input__")
    return s.moment("finished")


def updates_of_waiting():
    s = Scenario("updates of a waiting thread", diamond(log("left"), ask("q?")), APPEND)
    s.run(INPUT)
    s.update("as the node that waits", {"bar": ["u"]}, "right", join="join:left+right:join")
    s.run(INPUT).moment("again waiting")
    s.update("all tasks are dropped", None, END)
    return s.moment("finished")


def updates_with_sends():
    s = Scenario("updates that send", fan_out(lambda state: {"bar": [interrupt(state["n"])]}), APPEND)
    s.run(INPUT)
    s.update("as the node that sends", {"bar": ["u"]}, "plan", sends=[Send("work", {"n": n}) for n in range(3)])
    return s.moment("sent")


def updates_of_deltas():
    s = Scenario("updates of delta channels", delta_graph(), DELTAS)
    s.run(DELTA_INPUT)
    s.update("the head", {"bar": ["u"]}, "node_c")
    s.update("the head with a snapshot due", {"bar": ["v"], "messages": [AIMessage("v", id="v")]}, "node_c")
    s.update("the head without a delta", {"foo": "w"}, "node_c")
    s.update("overwriting", {"bar": Overwrite(["over"])}, "node_c")
    s.run(DELTA_INPUT)
    past = s.before("node_b")
    s.update("a past checkpoint", {"bar": ["w"]}, "node_a", config=past, next=["node_b"])
    s.moment("branched").run(None).moment("gone on from the branch")
    past = s.before("node_a")
    s.update("a past checkpoint without a delta", {"foo": "x"}, "__start__", config=past, next=["node_a"])
    s.update("the branch", {"bar": ["y"]}, "node_a", next=["node_b"])
    s.run(None).moment("finished")
    first = s.history()[-1].config
    s.update("the very first checkpoint", {"foo": "z"}, "__start__", config=first, next=["node_a"])
    s.run(None).moment("gone on from the first")
    return s


# --- message reducers --------------------------------------------------------


def reducer_cases():
    human, ai = HumanMessage("h", id="1"), AIMessage("a", id="2")
    cases = {
        "append": ([human], [ai]),
        "a single message": ([human], ai),
        "replace by id": ([human, ai], [HumanMessage("new", id="1")]),
        "replace and append": ([human, ai], [ToolMessage("t", tool_call_id="c", id="3"), AIMessage("b", id="2")]),
        "remove": ([human, ai], [RemoveMessage("1")]),
        "remove and write again": ([human, ai], [RemoveMessage("1"), HumanMessage("again", id="1")]),
        "write and remove": ([human], [AIMessage("a", id="2"), RemoveMessage("2")]),
        "remove one that is not there": ([human], [RemoveMessage("9")]),
        "remove all": ([human, ai], [AIMessage("x", id="3"), RemoveMessage("__remove_all__"), AIMessage("y", id="4")]),
        "remove all twice": ([human], [RemoveMessage("__remove_all__"), ai, RemoveMessage("__remove_all__")]),
        "the same id twice": ([], [HumanMessage("one", id="1"), HumanMessage("two", id="1")]),
        "a chunk": ([human], [AIMessageChunk("piece", id="2")]),
        "dicts": ([human], [{"role": "assistant", "content": "d", "id": "2"}, {"type": "system", "content": "s", "id": "3"}]),
        "a dict with tool fields": ([], [{"role": "tool", "content": "t", "tool_call_id": "c", "id": "3"}]),
        "a developer": ([], [{"role": "developer", "content": "d", "id": "5"}]),
        "empty": ([], []),
    }
    for name, (left, right) in cases.items():
        case = {"name": name, "current": typed(left), "update": typed(right)}
        for reducer, apply in (("add_messages", add_messages), ("delta_messages", lambda a, b: _messages_delta_reducer(a, [b]))):
            try:
                case[reducer] = typed(apply(list(left), list(right) if isinstance(right, list) else right))
            except ValueError as error:
                case[reducer + "_error"] = str(error)
        yield case


SCENARIOS = [
    sequential, breakpoint_before, parallel, deferred, deferred_node, one_of_two_fails, one_of_two_asks, both_ask,
    null_writes, conditional, edge_and_join, send, write_twice, wide, out_of_order, root_state, nested, chat, delta, delta_overwrite, delta_exit,
    delta_parallel, updates, updates_of_waiting, updates_with_sends, updates_of_deltas,
]


def main():
    here = pathlib.Path(__file__).parent
    versions = {name: importlib.metadata.version(name) for name in ("langchain-core", "langgraph", "langgraph-checkpoint")}
    golden = {"versions": versions, "scenarios": [make().dump() for make in SCENARIOS]}
    encoded = json.dumps(golden, separators=(",", ":")).encode()
    (here / "langgraph.json.gz").write_bytes(gzip.compress(encoded, mtime=0))
    (here / "reducers.json").write_text(json.dumps(list(reducer_cases()), indent=1) + "\n")


if __name__ == "__main__":
    main()
