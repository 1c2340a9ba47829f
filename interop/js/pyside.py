"""The Python side of the tests in interop/js: a real graph on LangGraph's own PostgresSaver, unmodified.

    pyside.py run URL THREAD TEXT ID           a turn of the conversation
    pyside.py resume URL THREAD ANSWER         answers what the graph asks
    pyside.py fork URL THREAD CHECKPOINT TEXT ID  a turn from a checkpoint of the past
    pyside.py read URL THREAD                  only reads
    pyside.py values                           values as LangGraph's serializer writes them

It prints the newest state as JSON.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import ipaddress
import json
import pathlib
import re
import sys
import uuid
from typing import Any

from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt
from psycopg import Connection
from psycopg.rows import dict_row


def agent(state: MessagesState) -> dict[str, Any]:
    """The conversation that JavaScript has, too: see chatGraph in tests/support.ts."""
    text = "from Python"
    if state["messages"][-1].content == "ask me":
        text = f"hello {interrupt('who are you?')}, from Python"
    return {"messages": [AIMessage(text, id=f"py-{len(state['messages'])}")]}


def values() -> None:
    call = {"name": "search", "args": {"q": "x", "n": 3}, "id": "c", "type": "tool_call"}
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "input_token_details": {"cache_read": 1}}
    serde = JsonPlusSerializer()
    written = []
    for value in [
        None, True, "text \0 ☀", b"\x00\xff", 1, -1, 2**32, -(2**33), 2**53, 2**63 - 1, 2**64 - 1, -(2**63), 0.5, float("inf"),
        [], {}, [[1], {"a": None}], {"a": [{"b": b"1"}]}, {"price": decimal.Decimal("1.50")}, uuid.UUID(int=7),
        datetime.datetime(2026, 4, 7, 10, 0, 0, 123456, datetime.timezone.utc), datetime.date(2026, 4, 7),
        datetime.timedelta(days=1, microseconds=5), datetime.time(10, 30), pathlib.Path("a/b"), re.compile("a+", re.I),
        {1}, frozenset({1}), collections.deque([1, 2]), ipaddress.ip_address("127.0.0.1"),
        Send("node", {"a": 1}), [Send("node", AIMessage("hi", id="1"))],
        HumanMessage("hi", id="1", name="Ada", additional_kwargs={"a": [1]}),
        HumanMessage([{"type": "text", "text": "hi"}, "there"]), HumanMessageChunk("hi"),
        SystemMessage("be brief", response_metadata={"a": None}),
        AIMessage("", id="2", tool_calls=[call], usage_metadata=usage, response_metadata={"model": "m"}),
        AIMessage("said"), ToolMessage("found", tool_call_id="c", artifact={"rows": [1]}, status="error", name="search"),
        ChatMessage("hi", role="critic"), FunctionMessage("1", name="f"), RemoveMessage(id="1"),
        _DeltaSnapshot([1, {"a": AIMessage("hi")}]),
    ]:
        kind, data = serde.dumps_typed(value)
        written.append({"repr": repr(value), "type": kind, "data": data.hex()})
    print(json.dumps(written))


def main(command: str, url: str, thread_id: str, *args: str) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    config: dict[str, Any] = {"configurable": {"thread_id": thread_id}}
    with Connection.connect(
        url, autocommit=True, prepare_threshold=0, row_factory=dict_row, options="-c search_path=langgraph"
    ) as connection:
        graph = builder.compile(checkpointer=PostgresSaver(connection))
        if command == "run":
            graph.invoke({"messages": [HumanMessage(args[0], id=args[1])]}, config)
        elif command == "resume":
            graph.invoke(Command(resume=args[0]), config)
        elif command == "fork":
            past = {"configurable": {**config["configurable"], "checkpoint_id": args[0]}}
            graph.invoke({"messages": [HumanMessage(args[1], id=args[2])]}, past)
        elif command != "read":
            sys.exit(f"there is no command {command!r}")
        state = graph.get_state(config)
    print(
        json.dumps(
            {
                "messages": [message.model_dump() for message in state.values.get("messages", [])],
                "next": state.next,
                "interrupts": [{"id": i.id, "value": i.value} for i in state.interrupts],
            }
        )
    )


if sys.argv[1:] == ["values"]:
    values()
else:
    main(*sys.argv[1:])
