"""Real LangGraph graphs on the Go saver, against the same graphs on LangGraph's InMemorySaver.

A test runs one scenario on both, and compares everything that can be seen afterwards: what the runs returned, every
snapshot of every thread and subgraph, and every checkpoint with its values, metadata and pending writes. Ids and times
differ between two runs; each is replaced by the order in which it appears. Scenarios run synchronously and asynchronously.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import math
import operator
import re
import uuid
from collections.abc import Callable
from typing import Annotated, Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import RESUME
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.pregel import Pregel
from langgraph.types import Command, Overwrite, Send, StateSnapshot, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from compare import assert_same
from groups import Count, Group

group = Group()


class Run:
    """One scenario on one saver: it drives graphs, and keeps what they returned."""

    def __init__(self, saver: BaseCheckpointSaver, asynchronous: bool) -> None:
        self.saver = saver
        self.asynchronous = asynchronous
        self.returned: list[Any] = []
        self._threads: dict[str, tuple[str, Pregel | None]] = {}

    def thread(self, name: str, graph: Pregel | None = None, **configurable: Any) -> RunnableConfig:
        """The config of a thread, by a name of the scenario; its id is unique to the run."""
        thread_id, known = self._threads.get(name, (str(uuid.uuid4()), None))
        self._threads[name] = (thread_id, graph or known)
        return {"configurable": {"thread_id": thread_id, **configurable}}

    async def invoke(self, graph: Pregel, given: Any, config: RunnableConfig, **options: Any) -> Any:
        if self.asynchronous:
            result = await graph.ainvoke(given, config, **options)
        else:
            result = await asyncio.to_thread(graph.invoke, given, config, **options)
        self.returned.append(result)
        return result

    async def fail(self, graph: Pregel, given: Any, config: RunnableConfig, error: type[Exception]) -> None:
        try:
            await self.invoke(graph, given, config)
        except error as raised:
            self.returned.append(repr(raised))
        else:
            raise AssertionError(f"{error.__name__} was not raised")

    async def update(self, graph: Pregel, config: RunnableConfig, values: Any, as_node: str | None = None) -> RunnableConfig:
        if self.asynchronous:
            return await graph.aupdate_state(config, values, as_node)
        return await asyncio.to_thread(graph.update_state, config, values, as_node)

    async def state(self, graph: Pregel, config: RunnableConfig, subgraphs: bool = False) -> StateSnapshot:
        if self.asynchronous:
            return await graph.aget_state(config, subgraphs=subgraphs)
        return await asyncio.to_thread(graph.get_state, config, subgraphs=subgraphs)

    async def history(self, graph: Pregel, config: RunnableConfig, **narrowed: Any) -> list[StateSnapshot]:
        if self.asynchronous:
            return [snapshot async for snapshot in graph.aget_state_history(config, **narrowed)]
        return await asyncio.to_thread(lambda: list(graph.get_state_history(config, **narrowed)))

    def threads(self) -> dict[str, tuple[str, Pregel | None]]:
        """The id of every thread by its name, with the graph that it is of."""
        return dict(self._threads)

    async def all_there_is(self) -> dict[str, Any]:
        """Everything that can be seen of the run's threads."""
        seen: dict[str, Any] = {"returned": self.returned}
        for name, (thread_id, graph) in self._threads.items():
            config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
            if graph is not None:
                seen[f"{name}: state"] = await self.state(graph, config, subgraphs=True)
                seen[f"{name}: history"] = await self.history(graph, config)
            seen[f"{name}: checkpoints"] = by_namespace([t async for t in self.saver.alist(config)])
        return seen


NewSaver = Callable[[JsonPlusSerializer], BaseCheckpointSaver]


class Savers:
    """Makes the two savers of a test. Their serializers load the classes of this file without a warning."""

    def __init__(self, new_saver: NewSaver) -> None:
        self._new_saver = new_saver
        self.serde = JsonPlusSerializer(allowed_msgpack_modules=[Colour, Offer, Customer])

    def expected(self) -> BaseCheckpointSaver:
        return InMemorySaver(serde=self.serde)

    def got(self) -> BaseCheckpointSaver:
        return self._new_saver(self.serde)


Scenario = Callable[[Run], Any]

# By name, for tests of other kinds.
scenarios: dict[str, Scenario] = {}


def by_namespace(tuples: list[CheckpointTuple]) -> list[list[CheckpointTuple]]:
    """Checkpoints of each namespace, newest first; namespaces in the order in which they began.

    Without the answers that a finished task was resumed with, which nobody reads any more: where it was resumed more than
    once, LangGraph's PostgresSaver, and ours, still have the last but one, and its InMemorySaver the last.
    """
    namespaces: dict[str, list[CheckpointTuple]] = {}
    for found in tuples:
        finished = {task_id for task_id, channel, _ in found.pending_writes if channel not in WRITES_IDX_MAP}
        writes = [w for w in found.pending_writes if w[1] != RESUME or w[0] not in finished]
        at = found.config["configurable"]["checkpoint_ns"]
        namespaces.setdefault(at, []).append(found._replace(pending_writes=writes))
    return sorted(namespaces.values(), key=lambda group: group[-1].checkpoint["id"])


UNIQUE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
VERSION = re.compile(r"(\d{32})\.\d.*")


class Names:
    """Gives ids names in the order in which they appear, and drops times and the random part of versions."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def text(self, text: str) -> str:
        if version := VERSION.fullmatch(text):
            return f"version {int(version[1])}"
        return UNIQUE.sub(lambda found: self._names.setdefault(found[0], f"<{len(self._names)}>"), text)

    def of(self, value: Any) -> Any:
        if isinstance(value, str) and type(value) is str:
            return self.text(value)
        if isinstance(value, StateSnapshot):
            assert value.created_at is None or datetime.datetime.fromisoformat(value.created_at)
            fields = value._replace(created_at=None, metadata=as_json(value.metadata))._asdict()
            return {name: self.of(field) for name, field in fields.items()}
        if isinstance(value, CheckpointTuple):
            checkpoint = {name: field for name, field in value.checkpoint.items() if name != "ts"}
            fields = value._replace(checkpoint=checkpoint, metadata=as_json(value.metadata))._asdict()
            return {name: self.of(field) for name, field in fields.items()}
        if isinstance(value, dict):
            return {self.of(key): self.of(element) for key, element in sorted(value.items(), key=lambda kv: repr(kv[0]))}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {name: self.of(field) for name, field in value._asdict().items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self.of(element) for element in value)
        if isinstance(value, BaseModel):
            return [type(value).__qualname__, self.of(dict(value.__dict__))]
        if dataclasses.is_dataclass(value):
            return [type(value).__qualname__, {f.name: self.of(getattr(value, f.name)) for f in dataclasses.fields(value)}]
        return value


def as_json(metadata: Any) -> Any:
    """Metadata as every saver but the InMemorySaver keeps it, in JSON, where a tuple is a list."""
    if isinstance(metadata, dict):
        return {key: as_json(value) for key, value in metadata.items()}
    if isinstance(metadata, (list, tuple)):
        return [as_json(value) for value in metadata]
    return metadata


def scenario(function: Scenario) -> Scenario:
    """Make a test of a scenario: run it on both savers and compare."""

    async def test(savers: Savers, asynchronous: bool) -> None:
        expected, got = (Run(saver, asynchronous) for saver in (savers.expected(), savers.got()))
        await function(expected)
        await function(got)
        await compare(expected, got)

    test.__name__ = function.__name__
    group.test(test)
    scenarios[function.__name__] = function
    return function


async def compare(expected: Run, got: Run) -> None:
    """Fail unless everything that can be seen of two runs of one scenario is the same."""
    want, have = await expected.all_there_is(), await got.all_there_is()
    assert want.keys() == have.keys()
    want_names, have_names = Names(), Names()
    for part in want:
        assert_same(part, have_names.of(have[part]), want_names.of(want[part]))


def equal(got: Any, want: Any) -> None:
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


# Graphs.


class Chat(TypedDict):
    messages: Annotated[list, add_messages]


def chat(saver: BaseCheckpointSaver) -> Pregel:
    """A model that asks for a tool, the tool, and the model's answer."""

    def model(state: Chat) -> dict[str, Any]:
        turn = len(state["messages"])
        if isinstance(state["messages"][-1], HumanMessage):
            call = {"name": "quote", "args": {"age": 35, "rate": 1.0}, "id": f"call {turn}"}
            usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
            return {"messages": [AIMessage("", id=f"ai {turn}", tool_calls=[call], usage_metadata=usage)]}
        return {"messages": [AIMessage(f"answer {turn}", id=f"ai {turn}")]}

    def tool(state: Chat) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [ToolMessage("42.50", tool_call_id=call["id"], id=f"tool {len(state['messages'])}")]}

    def route(state: Chat) -> str:
        return "tool" if state["messages"][-1].tool_calls else END

    graph = StateGraph(Chat)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route, ["tool", END])
    graph.add_edge("tool", "model")
    return graph.compile(checkpointer=saver)


class Steps(TypedDict, total=False):
    items: Annotated[list, operator.add]
    answer: Any


def line(saver: BaseCheckpointSaver, *, ask: bool = False, **options: Any) -> Pregel:
    """Three nodes in a line; the second may ask a human."""

    def first(state: Steps) -> Steps:
        return {"items": ["first"]}

    def second(state: Steps) -> Steps:
        answer = interrupt({"question": "go on?", "so far": state["items"]}) if ask else "not asked"
        return {"items": ["second"], "answer": answer}

    def third(state: Steps) -> Steps:
        return {"items": [f"third after {state['answer']}"]}

    graph = StateGraph(Steps)
    for node in (first, second, third):
        graph.add_node(node)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", "third")
    return graph.compile(checkpointer=saver, **options)


def extend(state: list, writes: list[list]) -> list:
    return [*state, *(item for write in writes for item in write)]


class Growing(TypedDict, total=False):
    log: Annotated[list, DeltaChannel(extend, snapshot_frequency=3)]
    notes: Annotated[list, DeltaChannel(extend)]
    turn: int


class Snapshotting(TypedDict, total=False):
    log: Annotated[list, DeltaChannel(extend, snapshot_frequency=4)]
    notes: Annotated[list, DeltaChannel(extend, snapshot_frequency=1)]
    turn: int


def growing(saver: BaseCheckpointSaver, schema: type = Growing) -> Pregel:
    """Two delta channels, written by parallel nodes of which the ids do not sort as their paths do."""

    def node(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def write(state: dict[str, Any]) -> dict[str, Any]:
            return {"log": [f"{name} {state['turn']}"], "notes": [{"by": name}]}

        return write

    graph = StateGraph(schema)
    names = ["wide", "narrow", "open", "closed"]
    for name in names:
        graph.add_node(name, node(name))
        graph.add_edge(START, name)
    graph.add_node("close", lambda state: {"log": [f"close {state['turn']}"]})
    graph.add_edge(names, "close")
    return graph.compile(checkpointer=saver)


def conversations(saver: BaseCheckpointSaver) -> list[tuple[str, Pregel, Any, Any]]:
    """A graph of each kind, with what begins a conversation and what goes on with it."""
    grow = ({"turn": 1, "log": ["input"]}, {"turn": 2, "log": ["more"]})
    return [
        ("chat", chat(saver), {"messages": [HumanMessage("1", id="1")]}, {"messages": [HumanMessage("2", id="2")]}),
        ("asked", line(saver, ask=True), {"items": ["input"]}, Command(resume="yes")),
        ("growing", growing(saver), *grow),
        ("growing with snapshots", growing(saver, Snapshotting), *grow),
    ]


# Scenarios.


@scenario
async def conversation_of_two_turns(run: Run) -> None:
    graph = chat(run.saver)
    config = run.thread("chat", graph)
    await run.invoke(graph, {"messages": [HumanMessage("a medical insurance?", id="1")]}, config)
    await run.invoke(graph, {"messages": [HumanMessage("and for two?", id="2")]}, config)
    messages = (await run.state(graph, config)).values["messages"]
    equal([type(m).__name__ for m in messages], ["HumanMessage", "AIMessage", "ToolMessage", "AIMessage"] * 2)
    equal(messages[1].tool_calls[0]["args"], {"age": 35, "rate": 1.0})


@scenario
async def message_is_replaced_and_removed_by_its_id(run: Run) -> None:
    graph = chat(run.saver)
    config = run.thread("chat", graph)
    await run.invoke(graph, {"messages": [HumanMessage("first", id="1")]}, config)
    await run.update(graph, config, {"messages": [HumanMessage("first, edited", id="1"), RemoveMessage("ai 1")]}, "model")
    equal([m.id for m in (await run.state(graph, config)).values["messages"]], ["1", "tool 2", "ai 3"])


@scenario
async def interrupt_waits_and_resumes(run: Run) -> None:
    graph = line(run.saver, ask=True)
    config = run.thread("asked", graph)
    await run.invoke(graph, {"items": ["input"]}, config)
    waiting = await run.state(graph, config)
    equal(waiting.next, ("second",))
    equal(waiting.interrupts[0].value, {"question": "go on?", "so far": ["input", "first"]})
    run.returned.append(waiting)
    result = await run.invoke(graph, Command(resume={"yes": [1, 2.0]}), config)
    equal(result["items"], ["input", "first", "second", "third after {'yes': [1, 2.0]}"])


@scenario
async def parallel_interrupts_resume_each_by_its_id(run: Run) -> None:
    def node(name: str) -> Callable[[Steps], Steps]:
        return lambda state: {"items": [f"{name}: {interrupt(name)}"]}

    built = StateGraph(Steps)
    for name in ("right", "left"):
        built.add_node(name, node(name))
        built.add_edge(START, name)
    graph = built.compile(checkpointer=run.saver)
    config = run.thread("asked", graph)
    await run.invoke(graph, {"items": []}, config)
    # It returned the interrupts in the order in which the threads of the nodes happened to end.
    run.returned.clear()
    waiting = {i.value: i.id for i in (await run.state(graph, config)).interrupts}
    equal(sorted(waiting), ["left", "right"])
    await run.invoke(graph, Command(resume={waiting["left"]: "L"}), config)
    run.returned.append(await run.state(graph, config))
    result = await run.invoke(graph, Command(resume={waiting["right"]: "R"}), config)
    equal(sorted(result["items"]), ["left: L", "right: R"])


@scenario
async def several_interrupts_of_one_node_resume_one_after_another(run: Run) -> None:
    def ask(state: Steps) -> Steps:
        return {"items": [interrupt("first?"), interrupt("second?"), interrupt("third?")]}

    graph = StateGraph(Steps).add_node(ask).add_edge(START, "ask").compile(checkpointer=run.saver)
    config = run.thread("asked", graph)
    await run.invoke(graph, {"items": []}, config)
    for answer in ("a", ["b"], {"c": 1.0}):
        result = await run.invoke(graph, Command(resume=answer), config)
    equal(result["items"], ["a", ["b"], {"c": 1.0}])


@scenario
async def breakpoints_stop_before_and_after_nodes(run: Run) -> None:
    graph = line(run.saver, interrupt_before=["second"], interrupt_after=["second"])
    config = run.thread("stops", graph)
    await run.invoke(graph, {"items": []}, config)
    equal((await run.state(graph, config)).next, ("second",))
    await run.invoke(graph, None, config)
    equal((await run.state(graph, config)).next, ("third",))
    equal((await run.invoke(graph, None, config))["items"], ["first", "second", "third after not asked"])


@scenario
async def state_is_updated_as_a_node(run: Run) -> None:
    graph = line(run.saver, ask=True)
    config = run.thread("updated", graph)
    await run.invoke(graph, {"items": []}, config)
    await run.update(graph, config, {"items": ["by hand"], "answer": "nobody's"}, as_node="second")
    equal((await run.state(graph, config)).next, ("third",))
    result = await run.invoke(graph, None, config)
    equal(result["items"], ["first", "by hand", "third after nobody's"])


@scenario
async def history_forks_and_both_branches_stay(run: Run) -> None:
    graph = line(run.saver)
    config = run.thread("forked", graph)
    await run.invoke(graph, {"items": ["one"]}, config)
    history = await run.history(graph, config)
    before_third = next(s for s in history if s.next == ("third",))
    fork = await run.update(graph, before_third.config, {"items": ["forked"], "answer": "the fork"})
    result = await run.invoke(graph, None, fork)
    equal(result["items"], ["one", "first", "second", "forked", "third after the fork"])
    old = await run.state(graph, history[0].config)
    equal(old.values["items"], ["one", "first", "second", "third after not asked"])


@scenario
async def old_checkpoint_is_replayed(run: Run) -> None:
    graph = line(run.saver)
    config = run.thread("replayed", graph)
    await run.invoke(graph, {"items": ["one"]}, config)
    history = await run.history(graph, config)
    for snapshot in history[1:]:
        if snapshot.next:
            await run.invoke(graph, None, snapshot.config)
    assert len(await run.history(graph, config)) > len(history), "replaying added no checkpoints"


@scenario
async def conversation_goes_on_from_a_fork_with_new_input(run: Run) -> None:
    graph = chat(run.saver)
    config = run.thread("chat", graph)
    await run.invoke(graph, {"messages": [HumanMessage("hello", id="1")]}, config)
    greeted = (await run.state(graph, config)).config
    await run.invoke(graph, {"messages": [HumanMessage("life insurance", id="2")]}, config)
    result = await run.invoke(graph, {"messages": [HumanMessage("no: medical", id="3")]}, greeted)
    equal([m.id for m in result["messages"] if isinstance(m, HumanMessage)], ["1", "3"])


@scenario
async def history_is_narrowed(run: Run) -> None:
    graph = line(run.saver)
    config = run.thread("listed", graph)
    await run.invoke(graph, {"items": ["one"]}, config)
    await run.invoke(graph, {"items": ["two"]}, config)
    everything = await run.history(graph, config)
    for narrowed in (
        {"limit": 2}, {"limit": 0}, {"filter": {"source": "input"}}, {"filter": {"step": 2}},
        {"before": everything[3].config}, {"before": everything[3].config, "limit": 1},
        {"filter": {"source": "loop"}, "before": everything[2].config, "limit": 2}, {"filter": {"source": "nothing"}},
    ):
        run.returned.append(await run.history(graph, config, **narrowed))
    equal([len(h) for h in run.returned[2:]], [2, 0, 2, 1, len(everything) - 4, 1, 2, 0])


@scenario
async def subgraph_keeps_checkpoints_of_its_own(run: Run) -> None:
    inner = line(None, ask=True)

    def outside(state: Steps) -> Steps:
        return {"items": ["outside"]}

    graph = StateGraph(Steps).add_node(outside).add_node("inside", inner)
    graph = graph.add_edge(START, "outside").add_edge("outside", "inside").compile(checkpointer=run.saver)
    config = run.thread("nested", graph)
    await run.invoke(graph, {"items": []}, config)
    waiting = await run.state(graph, config, subgraphs=True)
    equal(waiting.tasks[0].state.next, ("second",))
    run.returned.append(waiting)
    inside = waiting.tasks[0].state.config
    run.returned.append(await run.history(graph, inside))
    await run.update(graph, inside, {"items": ["inner update"]})
    result = await run.invoke(graph, Command(resume="yes"), config)
    equal(result["items"][-2:], ["second", "third after yes"])
    assert "inner update" in result["items"], "the update of the subgraph is lost"


@scenario
async def subgraph_of_a_subgraph_interrupts(run: Run) -> None:
    inner = line(None, ask=True)
    middle = StateGraph(Steps).add_node("inner", inner).add_edge(START, "inner").compile()
    graph = StateGraph(Steps).add_node("middle", middle).add_edge(START, "middle").compile(checkpointer=run.saver)
    config = run.thread("nested", graph)
    await run.invoke(graph, {"items": []}, config)
    run.returned.append(await run.state(graph, config, subgraphs=True))
    namespaces = {t.config["configurable"]["checkpoint_ns"].count("|") async for t in run.saver.alist(config)}
    equal(namespaces, {0, 1})
    result = await run.invoke(graph, Command(resume="deep"), config)
    equal(result["items"][-1], "third after deep")


@scenario
async def subgraph_with_a_memory_keeps_it_over_runs(run: Run) -> None:
    def count(state: Steps) -> Steps:
        return {"items": [len(state.get("items", []))]}

    inner = StateGraph(Steps).add_node(count).add_edge(START, "count").compile(checkpointer=True)

    async def call(state: Steps) -> Steps:
        return {"answer": (await inner.ainvoke({"items": ["call"]}))["items"]}

    def call_synchronously(state: Steps) -> Steps:
        return {"answer": inner.invoke({"items": ["call"]})["items"]}

    node = call if run.asynchronous else call_synchronously
    graph = StateGraph(Steps).add_node("call", node).add_edge(START, "call").compile(checkpointer=run.saver)
    config = run.thread("remembering", graph)
    for _ in range(3):
        result = await run.invoke(graph, {"items": ["outer"]}, config)
    equal(result["answer"], ["call", 1, "call", 3, "call", 5])


@scenario
async def sends_run_in_parallel_and_join_in_order(run: Run) -> None:
    def plan(state: Steps) -> Steps:
        return {"items": ["plan"]}

    def fan_out(state: Steps) -> list[Send]:
        return [Send("work", {"items": [], "answer": {"part": part, "half": part / 2}}) for part in range(12)]

    def work(state: Steps) -> Steps:
        return {"items": [state["answer"]["half"]]}

    def join(state: Steps) -> Steps:
        return {"answer": sum(state["items"][1:])}

    graph = StateGraph(Steps).add_node(plan).add_node(work).add_node(join)
    graph = graph.add_edge(START, "plan").add_conditional_edges("plan", fan_out, ["work"]).add_edge("work", "join")
    graph = graph.compile(checkpointer=run.saver)
    config = run.thread("fanned", graph)
    result = await run.invoke(graph, {"items": []}, config)
    equal(result, {"items": ["plan", *[part / 2 for part in range(12)]], "answer": 33.0})
    pending = next(s for s in await run.history(graph, config) if len(s.next) == 12)
    equal([t.result for t in pending.tasks], [{"items": [part / 2]} for part in range(12)])


@scenario
async def commands_go_and_update(run: Run) -> None:
    def choose(state: Steps) -> Command:
        return Command(goto=["left", Send("right", {"items": ["sent"]})], update={"items": ["choose"]})

    def left(state: Steps) -> Steps:
        return {"items": ["left"]}

    def right(state: Steps) -> Steps:
        return {"items": [f"right with {state['items']}"]}

    graph = StateGraph(Steps).add_node(choose, destinations=("left", "right")).add_node(left).add_node(right)
    graph = graph.add_edge(START, "choose").compile(checkpointer=run.saver)
    config = run.thread("commanded", graph)
    result = await run.invoke(graph, {"items": []}, config)
    equal(sorted(result["items"]), ["choose", "left", "right with ['sent']"])


@scenario
async def failed_run_goes_on_without_repeating_what_succeeded(run: Run) -> None:
    ran = {"steady": 0, "shaky": 0}

    def steady(state: Steps) -> Steps:
        ran["steady"] += 1
        return {"items": ["steady"]}

    def shaky(state: Steps, config: RunnableConfig) -> Steps:
        ran["shaky"] += 1
        if ran["shaky"] > 1:
            return {"items": ["shaky"]}
        # Until what the other node wrote is saved: the run must not have to repeat it.
        newest = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
        while not any(write[2] == ["steady"] for write in run.saver.get_tuple(newest).pending_writes):
            pass
        raise RuntimeError("connection lost")

    async def shaky_in_a_thread(state: Steps, config: RunnableConfig) -> Steps:
        return await asyncio.to_thread(shaky, state, config)

    graph = StateGraph(Steps).add_node(steady).add_node("shaky", shaky_in_a_thread if run.asynchronous else shaky)
    graph = graph.add_edge(START, "steady").add_edge(START, "shaky").compile(checkpointer=run.saver)
    config = run.thread("failed", graph)
    await run.fail(graph, {"items": []}, config, RuntimeError)
    failed = await run.state(graph, config)
    equal([t.name for t in failed.tasks if t.error], ["shaky"])
    result = await run.invoke(graph, None, config)
    equal(sorted(result["items"]), ["shaky", "steady"])
    equal(ran, {"steady": 1, "shaky": 2})


@scenario
async def every_durability_ends_in_the_same_state(run: Run) -> None:
    for durability in ("sync", "async", "exit"):
        graph = line(run.saver)
        config = run.thread(durability, graph)
        for turn in ("one", "two"):
            result = await run.invoke(graph, {"items": [turn]}, config, durability=durability)
        equal(len(result["items"]), 8)
    equal(len(await run.history(graph, run.thread("exit"))), 2)


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Offer:
    price: decimal.Decimal
    tags: set[str]


class Customer(BaseModel):
    name: str
    born: datetime.date


class Anything(TypedDict, total=False):
    value: Any
    seen: Annotated[list, operator.add]


@scenario
async def values_of_every_type_pass_through_channels(run: Run) -> None:
    await pass_through(run, [
        None, True, False, 0, -1, 2**53 + 1, 2**63 - 1, 2**64 - 1, 0.0, 1.0, 0.1 + 0.2,
        "", "線と糸 🧶", "\\u0000", b"", b"\x00\xff", [], {}, set(), frozenset({1}),
        [None, {"a": [1.0, math.nan, "\x00", {2: "two"}]}], Colour.RED, Offer(decimal.Decimal("19.90"), {"new"}),
        Customer(name="Žofie", born=datetime.date(1990, 2, 28)), datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        datetime.timedelta(days=1), re.compile("a.b", re.IGNORECASE), HumanMessage("x", id="1"),
    ])  # fmt: skip


@scenario
async def primitives_that_jsonb_would_change_pass_through_channels(run: Run) -> None:
    await pass_through(run, [1e22, 1e300, -0.0, math.nan, math.inf, -math.inf, "\x00", "nul \x00 within"])


group.beyond_postgres_saver["primitives_that_jsonb_would_change_pass_through_channels"] = "it puts them in jsonb"


async def pass_through(run: Run, values: list[Any]) -> None:
    def take(state: Anything) -> Anything:
        return {"seen": [state.get("value")]}

    graph = StateGraph(Anything).add_node(take).add_edge(START, "take").compile(checkpointer=run.saver)
    config = run.thread("typed", graph)
    for value in values:
        result = await run.invoke(graph, {"value": value}, config)
        assert_same("value", result["value"], value)
        assert_same("value read again", (await run.state(graph, config)).values["value"], value)
    assert_same("values seen", (await run.state(graph, config)).values["seen"], values)


@scenario
async def metadata_of_every_type_comes_back(run: Run) -> None:
    graph = line(run.saver)
    config = run.thread("noted", graph, tenant="acme", retries=3, ratio=1.0, live=True)
    config["metadata"] = {"note": "with \x00 in it", "big": 2**60, "small": 1e-9, "user": "線"}
    await run.invoke(graph, {"items": []}, config)
    metadata = (await run.state(graph, config)).metadata
    noted = {key: metadata[key] for key in ("tenant", "retries", "ratio", "live", "note", "big", "small", "user")}
    assert_same("metadata", noted, {
        "tenant": "acme", "retries": 3, "ratio": 1.0, "live": True, "note": "with  in it",
        "big": 2**60, "small": 1e-9, "user": "線",
    })


@scenario
async def delta_channels_are_rebuilt_after_every_turn(run: Run) -> None:
    graph = growing(run.saver)
    config = run.thread("growing", graph)
    expected: list[str] = []
    for turn in range(5):
        result = await run.invoke(graph, {"turn": turn, "log": [f"input {turn}"]}, config)
        expected += [f"input {turn}"]
        equal(result["log"][: len(expected)], expected)
        expected = result["log"]
    state = await run.state(graph, config)
    equal(state.values["log"], expected)
    equal(len(state.values["log"]), 5 * 6)
    equal(len(state.values["notes"]), 5 * 4)
    snapshots = [t async for t in run.saver.alist(config) if "log" in t.checkpoint["channel_values"]]
    assert len(snapshots) > 2, f"the channel has {len(snapshots)} snapshots"


@scenario
async def delta_channels_fork_on_their_own_branch(run: Run) -> None:
    graph = growing(run.saver)
    config = run.thread("growing", graph)
    await run.invoke(graph, {"turn": 0, "log": ["trunk"]}, config)
    trunk = (await run.state(graph, config)).config
    left = await run.invoke(graph, {"turn": 1, "log": ["left"]}, config)
    right = await run.invoke(graph, {"turn": 2, "log": ["right"]}, trunk)
    assert "left" not in right["log"], "a branch has the writes of another"
    equal(right["log"][:6], left["log"][:6])
    replaced = await run.update(graph, trunk, {"log": Overwrite(["from here"])}, as_node="close")
    again = await run.invoke(graph, {"turn": 3, "log": ["on"]}, replaced)
    equal(again["log"][:2], ["from here", "on"])


@scenario
async def graph_that_changes_to_delta_channels_keeps_its_threads(run: Run) -> None:
    class Before(TypedDict, total=False):
        log: Annotated[list, operator.add]
        notes: Annotated[list, operator.add]
        turn: int

    before = StateGraph(Before).add_node("close", lambda state: {"log": ["old"]}).add_edge(START, "close")
    before = before.compile(checkpointer=run.saver)
    config = run.thread("changed")
    await run.invoke(before, {"turn": 0, "log": ["input"]}, config)
    after = growing(run.saver)
    result = await run.invoke(after, {"turn": 1, "log": ["new"]}, run.thread("changed", after))
    equal(result["log"][:3], ["input", "old", "new"])


@scenario
async def functional_workflow_remembers_tasks_and_what_it_returned(run: Run) -> None:
    ran = []

    @task
    def slow(number: int) -> int:
        ran.append(number)
        return number * 2

    if run.asynchronous:

        @entrypoint(checkpointer=run.saver)
        async def flow(given: list[int], *, previous: Any = None) -> entrypoint.final[Any, Any]:
            doubled = [await slow(number) for number in given]
            answer = interrupt("good?")
            return entrypoint.final(value={"doubled": doubled, "answer": answer, "previous": previous}, save=sum(doubled))

    else:

        @entrypoint(checkpointer=run.saver)
        def flow(given: list[int], *, previous: Any = None) -> entrypoint.final[Any, Any]:
            doubled = [future.result() for future in [slow(number) for number in given]]
            answer = interrupt("good?")
            return entrypoint.final(value={"doubled": doubled, "answer": answer, "previous": previous}, save=sum(doubled))

    config = run.thread("flow", flow)
    await run.invoke(flow, [1, 2], config)
    result = await run.invoke(flow, Command(resume="yes"), config)
    equal(result, {"doubled": [2, 4], "answer": "yes", "previous": None})
    equal(sorted(ran), [1, 2])
    await run.invoke(flow, [5], config)
    result = await run.invoke(flow, Command(resume="again"), config)
    equal(result, {"doubled": [10], "answer": "again", "previous": 6})


@scenario
async def many_threads_run_at_once(run: Run) -> None:
    graph = line(run.saver)
    configs = [run.thread(f"thread {n}", graph) for n in range(16)]
    if run.asynchronous:
        results = await asyncio.gather(*[graph.ainvoke({"items": [n]}, c) for n, c in enumerate(configs)])
    else:
        results = await asyncio.to_thread(graph.batch, [{"items": [n]} for n in range(16)], configs)
    equal([r["items"][0] for r in results], list(range(16)))


@scenario
async def deleted_thread_is_empty_and_starts_anew(run: Run) -> None:
    graph = line(run.saver)
    config = run.thread("deleted", graph)
    other = run.thread("other", graph)
    await run.invoke(graph, {"items": ["old"]}, config)
    await run.invoke(graph, {"items": ["other"]}, other)
    await run.saver.adelete_thread(config["configurable"]["thread_id"])
    run.returned.append(await run.state(graph, config))
    equal((await run.invoke(graph, {"items": ["new"]}, config))["items"][0], "new")


# What the InMemorySaver cannot do: there the thread stays as it is, and only what has to be the same is compared.


@group.test
async def pruned_threads_go_on_as_before(savers: Savers, asynchronous: bool) -> None:
    """Pruning to the newest checkpoint changes nothing for the runs that follow, delta channels and interrupts included."""
    results = []
    for saver in (savers.expected(), savers.got()):
        run = Run(saver, asynchronous)
        for name, graph, given, then in conversations(saver):
            config = run.thread(name, graph)
            for _ in range(2 if name.startswith("growing") else 1):
                await run.invoke(graph, given, config)
            if not isinstance(saver, InMemorySaver):
                count = len(await run.history(graph, config))
                await saver.aprune([config["configurable"]["thread_id"]])
                left = len(await run.history(graph, config))
                # One of its channels never has a snapshot, so that all of its history is needed.
                if name == "growing":
                    equal(left, count)
                elif name == "growing with snapshots":
                    assert 1 < left < count, f"{left} of {count} checkpoints are left"
                else:
                    equal(left, 1)
            state = await run.state(graph, config)
            run.returned.append([state.values, state.next, state.interrupts])
            await run.invoke(graph, then, config)
            run.returned.append((await run.state(graph, config)).values)
        results.append(Names().of(run.returned))
    assert_same("what the runs returned", results[1], results[0])


@group.test
async def copied_threads_go_on_each_for_itself(savers: Savers, asynchronous: bool) -> None:
    """A copy has the state and the history of its source, and neither sees what the other does next."""
    run = Run(savers.got(), asynchronous)
    for name, graph, given, then in conversations(run.saver):
        source, target = run.thread(name, graph), run.thread(f"copy of {name}", graph)
        source_id, target_id = (config["configurable"]["thread_id"] for config in (source, target))
        await run.invoke(graph, given, source)
        await run.saver.acopy_thread(source_id, target_id)
        before = await run.history(graph, source)
        assert_same("the history of the copy", Names().of(await run.history(graph, target)), Names().of(before))
        grown = await run.invoke(graph, then, target)
        assert_same("the history of the source", await run.history(graph, source), before)
        assert_same("the run of the source", Names().of(await run.invoke(graph, then, source)), Names().of(grown))


@group.test
async def deleted_runs_leave_the_others(savers: Savers, asynchronous: bool) -> None:
    """Deleting a run removes its checkpoints; the thread's newest state, of another run, stays."""
    run = Run(savers.got(), asynchronous)
    graph = line(run.saver)
    config = run.thread("runs", graph)
    runs = [str(uuid.uuid4()) for _ in range(3)]
    for number, run_id in enumerate(runs):
        await run.invoke(graph, {"items": [number]}, {**config, "metadata": {"run_id": run_id}})
    before = await run.state(graph, config)
    await run.saver.adelete_for_runs(runs[:2])
    equal({s.metadata["run_id"] for s in await run.history(graph, config)}, {runs[2]})
    equal((await run.state(graph, config)).values, before.values)


async def run(name: str, new_saver: NewSaver, shared: bool = False) -> Count:
    """Run all on the savers that new_saver makes, with a serializer it is given."""
    variants = {" (synchronously)": (False,), " (asynchronously)": (True,)}
    return await group.run(name, Savers(new_saver), variants=variants, shared=shared)
