"""Descriptions of values from which the Go side makes them by itself, see bridge/build.go: what, and never how it is stored."""

from __future__ import annotations

import base64
import datetime
import decimal
import struct
import uuid
from collections import deque
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Overwrite, Send

ROLES = {HumanMessage: "human", AIMessage: "ai", SystemMessage: "system", ToolMessage: "tool", RemoveMessage: "remove"}


def describe(value: Any) -> Any:
    """The description of a value. Types that Go makes no values of are a TypeError."""
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return {"int": str(value)}
    if kind is float:
        return {"float": struct.pack(">d", value).hex()}
    if kind in (bytes, bytearray):
        return {kind.__name__: base64.b64encode(value).decode()}
    if kind in (list, set, frozenset, deque):
        return {kind.__name__: [describe(item) for item in value]}
    if kind is dict:
        return {"dict": [[describe(key), describe(element)] for key, element in value.items()]}
    if kind is datetime.datetime:
        return {"naive" if value.tzinfo is None else "datetime": value.isoformat()}
    if kind is datetime.date:
        return {"date": value.isoformat()}
    if kind is datetime.timedelta:
        return {"duration": str(value // datetime.timedelta(microseconds=1))}
    if kind is uuid.UUID:
        return {"uuid": str(value)}
    if kind is decimal.Decimal:
        return {"decimal": str(value)}
    if kind is _DeltaSnapshot:
        return {"snapshot": describe(value.value)}
    if kind is Overwrite:
        return {"overwrite": describe(value.value)}
    if kind is Send:
        return {"send": {"node": value.node, "arg": describe(value.arg)}}
    if kind in ROLES:
        return {"message": describe_message(value)}
    raise TypeError(f"there is no description of {kind.__qualname__}")


def describe_message(message: BaseMessage) -> dict[str, Any]:
    described: dict[str, Any] = {"role": ROLES[type(message)], "text": message.content, "id": message.id}
    if isinstance(message, ToolMessage):
        described["call_id"] = message.tool_call_id
    if isinstance(message, AIMessage):
        described["tool_calls"] = [
            {"name": call["name"], "id": call["id"], "args": describe(call["args"])} for call in message.tool_calls
        ]
        if usage := message.usage_metadata:
            described["usage"] = {
                "InputTokens": usage["input_tokens"], "OutputTokens": usage["output_tokens"],
                "TotalTokens": usage["total_tokens"],
            }
    return described
