"""The driver's payloads as LangGraph's objects, and the digests that the driver compares between sides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

Body = dict[str, Any]


class Refused(ValueError):
    """A request that cannot be carried out as it is, which is the driver's mistake and no defect of this side."""


class Payloads:
    """The bodies of payloads.json: as values of channels, and as JSON for the store."""

    def __init__(self, path: str) -> None:
        self._plain: dict[str, list[Body]] = {
            name: [body["channels"] for body in bodies] for name, bodies in json.loads(Path(path).read_text()).items()
        }
        self._channels = {name: [_values(body) for body in bodies] for name, bodies in self._plain.items()}

    def channels(self, payload: str, number: int) -> Body:
        """The values of the channels of the checkpoint with this number."""
        return _numbered(self._channels, payload, number)

    def item(self, payload: str, number: int) -> Body:
        """A value for the store, which holds JSON. The number tells items of the same body apart."""
        return {**_numbered(self._plain, payload, number), "number": number}

    def writes(self, payload: str, count: int) -> list[tuple[str, Any]]:
        """The writes of one task: a message each, or a text each, of the first body, again and again."""
        parts: list[tuple[str, Any]] = []
        for channel, value in self.channels(payload, 0).items():
            parts += [(channel, [message]) for message in value] if isinstance(value, list) else [(channel, value)]
        return [parts[number % len(parts)] for number in range(count)]


def _numbered(bodies: Mapping[str, Sequence[Body]], payload: str, number: int) -> Body:
    if payload not in bodies:
        raise Refused(f"no payload {payload!r}: payloads.json has {', '.join(bodies)}")
    return bodies[payload][number % len(bodies[payload])]


def _values(body: Body) -> Body:
    return {channel: [_message(m) for m in value] if isinstance(value, list) else value for channel, value in body.items()}


def _message(described: Mapping[str, Any]) -> AnyMessage:
    content, identifier = described["content"], described["id"]
    match described["type"]:
        case "human":
            return HumanMessage(content, id=identifier)
        case "ai":
            return AIMessage(content, id=identifier)
        case "tool":
            # A tool's message must name the call that it answers.
            return ToolMessage(content, id=identifier, tool_call_id=described.get("tool_call_id", identifier))
        case other:
            raise Refused(f"messages of type {other!r} are not known: human, ai and tool are")


def digest(values: Mapping[str, Any]) -> str:
    """What the values of a checkpoint, or of an item, amount to. Lengths are bytes of UTF-8, as every side can count them."""
    if "messages" in values:
        return messages_digest(values["messages"])
    texts = [value for value in values.values() if isinstance(value, str)]
    return f"channels={len(texts)};bytes={sum(map(_length, texts))}"


def messages_digest(messages: Sequence[AnyMessage | Mapping[str, Any]]) -> str:
    last = _length(_content(messages[-1])) if messages else 0
    return f"messages={len(messages)};last={last}"


def writes_digest(writes: Sequence[tuple[str, str, Any]]) -> str:
    texts = [value if isinstance(value, str) else _content(value[-1]) for _, _, value in writes]
    return f"writes={len(texts)};bytes={sum(map(_length, texts))}"


def _content(message: AnyMessage | Mapping[str, Any]) -> str:
    return message["content"] if isinstance(message, Mapping) else message.content


def _length(text: str) -> int:
    return len(text.encode())
