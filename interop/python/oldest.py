"""Fills a database with the oldest release that adoption is tested with, or reads what is in it with that release.

    oldest.py fill CONNINFO
    oldest.py read CONNINFO
    oldest.py setup CONNINFO

Runs in the virtual environment of requirements-oldest.txt. Prints JSON: of every thread the states, of the store the items, in
a form that does not depend on the release, see portable.
"""

import json
import operator
import sys
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.postgres import PostgresStore
from langgraph.types import Send


class Chat(TypedDict):
    messages: Annotated[list, add_messages]


def chat(saver):
    def model(state):
        turn = len(state["messages"])
        if isinstance(state["messages"][-1], HumanMessage):
            call = {"name": "quote", "args": {"age": 35, "rate": 1.0}, "id": f"call {turn}"}
            return {"messages": [AIMessage("", id=f"ai {turn}", tool_calls=[call])]}
        return {"messages": [AIMessage(f"answer {turn}", id=f"ai {turn}")]}

    def tool(state):
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [ToolMessage("42.50", tool_call_id=call["id"], id=f"tool {len(state['messages'])}")]}

    graph = StateGraph(Chat)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tool" if state["messages"][-1].tool_calls else END, ["tool", END])
    graph.add_edge("tool", "model")
    return graph.compile(checkpointer=saver)


class Steps(TypedDict, total=False):
    items: Annotated[list, operator.add]
    answer: Any


def line(saver, **options):
    graph = StateGraph(Steps)
    graph.add_node("first", lambda state: {"items": ["first"]})
    graph.add_node("second", lambda state: {"items": ["second"], "answer": {"n": 1, "f": 1.0, "none": None}})
    graph.add_node("third", lambda state: {"items": [f"third after {state['answer']}"]})
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", "third")
    return graph.compile(checkpointer=saver, **options)


def fanned(saver):
    graph = StateGraph(Steps)
    graph.add_node("plan", lambda state: {"items": ["plan"]})
    graph.add_node("work", lambda state: {"items": [state["answer"]]})
    graph.add_node("join", lambda state: {"answer": sorted(state["items"][1:])})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda state: [Send("work", {"answer": f"part {n}"}) for n in range(3)], ["work"])
    graph.add_edge("work", "join")
    return graph.compile(checkpointer=saver, interrupt_before=["join"])


def nested(saver):
    graph = StateGraph(Steps)
    graph.add_node("inside", line(None, interrupt_before=["third"]))
    graph.add_edge(START, "inside")
    return graph.compile(checkpointer=saver)


GRAPHS = {
    "chat": chat, "done": line, "forked": line, "stopped": lambda saver: line(saver, interrupt_before=["third"]),
    "fanned": fanned, "nested": nested,
}


def at(thread):
    return {"configurable": {"thread_id": thread}}


def fill(saver, store):
    saver.setup()
    store.setup()
    graphs = {name: make(saver) for name, make in GRAPHS.items()}
    graphs["chat"].invoke({"messages": [HumanMessage("a medical insurance? 線 🧶", id="1")]}, at("chat"))
    graphs["chat"].invoke({"messages": [HumanMessage("and for two?", id="2")]}, at("chat"))
    for name in ("done", "forked", "stopped", "fanned", "nested"):
        graphs[name].invoke({"items": [name]}, at(name))
    middle = next(s for s in graphs["forked"].get_state_history(at("forked")) if s.next == ("third",))
    fork = graphs["forked"].update_state(middle.config, {"items": ["by hand"], "answer": "the fork"})
    graphs["forked"].invoke(None, fork)
    graphs["stopped"].update_state(at("stopped"), {"items": ["edited"]})
    for number in range(5):
        store.put(("users", f"u{number % 2}"), f"k{number}", {"n": number, "text": "線 🧶", "list": [None, 1.5, {}]})


def portable(value):
    """A value as JSON that is the same in every release."""
    if isinstance(value, BaseMessage):
        return {
            "message": value.type, "id": value.id, "content": value.content, "tool_calls": getattr(value, "tool_calls", None),
            "tool_call_id": getattr(value, "tool_call_id", None),
        }
    if isinstance(value, dict):
        return {str(key): portable(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [portable(element) for element in value]
    return value


def read(saver, store):
    """All that was filled, as this release reads it."""
    states = {}
    for name, make in GRAPHS.items():
        states[name] = [
            {"values": portable(s.values), "next": list(s.next), "id": s.config["configurable"]["checkpoint_id"],
             "parent": s.parent_config["configurable"]["checkpoint_id"] if s.parent_config else None,
             "step": s.metadata["step"], "source": s.metadata["source"], "created_at": s.created_at}
            for s in make(saver).get_state_history(at(name))
        ]
    items = [[list(i.namespace), i.key, i.value, i.created_at.isoformat()] for i in store.search(("users",), limit=100)]
    return {"states": states, "items": sorted(items)}


def main(action, conninfo):
    with PostgresSaver.from_conn_string(conninfo) as saver, PostgresStore.from_conn_string(conninfo) as store:
        if action == "setup":
            saver.setup()
            store.setup()
            return
        if action == "fill":
            fill(saver, store)
        json.dump(read(saver, store), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
