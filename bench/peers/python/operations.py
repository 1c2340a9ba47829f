"""The operations: what they are prepared with before the clock starts, what is called, and the digest of what came of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import GetOp, PutOp
from langgraph.store.base.embed import get_text_at_path
from langgraph.store.postgres import PostgresStore

import payloads
from payloads import Payloads, Refused
from sides import EMBEDDINGS, Target

CHANNEL = "messages"

Step = tuple[Any, ...]


class Request(dict[str, Any]):
    """A line of the driver; a field that is missing or of the wrong type says so."""

    def text(self, name: str) -> str:
        if not isinstance(value := self.get(name), str) or not value:
            raise Refused(f"the request needs {name}, a text: it has {value!r}")
        return value

    def number(self, name: str) -> int:
        if not isinstance(value := self.get(name), int) or isinstance(value, bool) or value < 1:
            raise Refused(f"the request needs {name}, a number of 1 or more: it has {value!r}")
        return value


@dataclass
class Filled:
    """A thread that this process has filled."""

    checkpoints: list[str]
    has_channel: bool


class Database:
    """What is done beside the clock: filling, and reading back what was written."""

    def __init__(self, saver: PostgresSaver, store: PostgresStore, searched: PostgresStore, bodies: Payloads) -> None:
        self.saver, self.store, self.searched, self.bodies = saver, store, searched, bodies
        self._threads: dict[str, Filled] = {}
        self._items: dict[tuple[str, ...], int] = {}
        self._has_vectors = False

    def fill(self, thread: str, checkpoints: int, payload: str, *, delta: bool = False) -> None:
        if thread in self._threads:
            raise Refused(f"thread {thread!r} is filled already")
        if delta:
            ids = self._fill_with_deltas(thread, checkpoints, payload)
        else:
            steps = self.puts(thread, payload, range(checkpoints))
            for step in steps:
                self.saver.put(*step)
            ids = [step[1]["id"] for step in steps]
        self._threads[thread] = Filled(ids, CHANNEL in self.bodies.channels(payload, 0))

    def puts(self, thread: str, payload: str, numbers: range) -> list[Step]:
        """The arguments of put for a chain of checkpoints, each with the payload of its number."""
        steps: list[Step] = []
        parent, versions = None, {}
        for place, number in enumerate(numbers):
            values = self.bodies.channels(payload, number)
            versions = {channel: self.saver.get_next_version(versions.get(channel), None) for channel in values}
            checkpoint = _checkpoint(place, values, versions)
            steps.append((_config(thread, parent), checkpoint, _metadata(place), versions))
            parent = checkpoint["id"]
        return steps

    def _fill_with_deltas(self, thread: str, checkpoints: int, payload: str) -> list[str]:
        """A thread as LangGraph's DeltaChannel leaves it: the first checkpoint has all messages of the payload, and every
        later step is one message that its task wrote."""
        messages = self.bodies.channels(payload, 0)[CHANNEL]
        ids: list[str] = []
        version, parent = None, None
        for number in range(checkpoints):
            version = self.saver.get_next_version(version, None)
            values = {CHANNEL: _DeltaSnapshot(messages)} if number == 0 else {}
            checkpoint = _checkpoint(number, values, {CHANNEL: version})
            config = self.saver.put(_config(thread, parent), checkpoint, _metadata(number), {CHANNEL: version})
            self.saver.put_writes(config, [(CHANNEL, [messages[number % len(messages)]])], str(uuid.uuid4()))
            parent = checkpoint["id"]
            ids.append(parent)
        return ids

    def filled(self, thread: str) -> Filled:
        if thread not in self._threads:
            raise Refused(f"thread {thread!r} is not filled: send fill first")
        return self._threads[thread]

    def forget(self, thread: str) -> None:
        self._threads.pop(thread, None)

    def read(self, thread: str, checkpoint_id: str | None = None) -> CheckpointTuple:
        found = self.saver.get_tuple(_config(thread, checkpoint_id))
        if found is None:
            raise AssertionError(f"thread {thread!r} has no checkpoint {checkpoint_id or 'at all'}")
        return found

    def fill_items(self, store: PostgresStore, namespace: tuple[str, ...], request: Request) -> int:
        """Items of the namespace, put once for all runs that name them; their number."""
        count = request.number("checkpoints")
        if self._items.setdefault(namespace, count) != count:
            raise Refused(f"namespace {namespace} is filled with {self._items[namespace]} items already")
        if store.get(namespace, str(count - 1)) is None:
            payload = request.text("payload")
            for number in range(count):
                store.put(namespace, str(number), self.bodies.item(payload, number))
        return count

    def need_vectors(self) -> None:
        """pgvector is needed by searches alone, so that its tables are not made before the first of them."""
        if not self._has_vectors:
            self.searched.setup()
            self._has_vectors = True


@dataclass
class Operation:
    """prepare makes the arguments of each of the calls; call and acall make a call; sample digests the last one's answer, and
    reads back what was written."""

    prepare: Callable[[Database, Request], list[Step]]
    call: Callable[[Target, Step], Any]
    acall: Callable[[Target, Step], Any]
    sample: Callable[[Database, Request, Step, Any], str]


def _config(thread: str, checkpoint_id: str | None = None) -> dict[str, Any]:
    configurable = {"thread_id": thread, "checkpoint_ns": ""}
    return {"configurable": {**configurable, "checkpoint_id": checkpoint_id} if checkpoint_id else configurable}


def _checkpoint(step: int, values: Mapping[str, Any], versions: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "v": 4,
        "ts": datetime.now(timezone.utc).isoformat(),
        "id": str(uuid6(clock_seq=step)),
        "channel_values": dict(values),
        "channel_versions": dict(versions),
        "versions_seen": {"__input__": {}, "node": dict(versions)},
        "updated_channels": list(versions),
    }


def _metadata(step: int) -> dict[str, Any]:
    return {"source": "loop", "step": step, "parents": {}}


def _fresh(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex}"


# Checkpoints.


def _prepare_put(database: Database, request: Request) -> list[Step]:
    connections, count = request.number("connections"), request.number("count")
    steps: list[Any] = [None] * count
    for number in range(connections):
        share = range(number, count, connections)
        steps[number::connections] = database.puts(_fresh("put"), request.text("payload"), share)
    return steps


def _sample_put(database: Database, _: Request, step: Step, __: Any) -> str:
    config, checkpoint = step[0], step[1]
    found = database.read(config["configurable"]["thread_id"])
    if found.checkpoint["id"] != checkpoint["id"]:
        raise AssertionError(f"checkpoint {checkpoint['id']} is not its thread's newest after put")
    return payloads.digest(found.checkpoint["channel_values"])


def _prepare_put_writes(database: Database, request: Request) -> list[Step]:
    connections, count, payload = request.number("connections"), request.number("count"), request.text("payload")
    # On threads of their own: pending writes are part of what get reads.
    configs = [database.saver.put(*database.puts(_fresh("writes"), payload, range(1))[0]) for _ in range(connections)]
    writes = database.bodies.writes(payload, request.number("writes"))
    return [(configs[number % connections], writes, str(uuid.uuid4())) for number in range(count)]


def _sample_put_writes(database: Database, _: Request, step: Step, __: Any) -> str:
    config, _writes, task = step
    at = config["configurable"]
    found = database.read(at["thread_id"], at["checkpoint_id"])
    return payloads.writes_digest([write for write in found.pending_writes or [] if write[0] == task])


def _prepare_get(database: Database, request: Request) -> list[Step]:
    thread = request.text("thread")
    database.filled(thread)
    return [(_config(thread),)] * request.number("count")


def _prepare_get_by_id(database: Database, request: Request) -> list[Step]:
    thread = request.text("thread")
    ids = database.filled(thread).checkpoints
    return [(_config(thread, ids[len(ids) // 2]),)] * request.number("count")


def _sample_get(_: Database, request: Request, __: Step, found: CheckpointTuple | None) -> str:
    if found is None:
        raise AssertionError(f"nothing was read of thread {request.text('thread')!r}")
    return payloads.digest(found.checkpoint["channel_values"])


def _prepare_list(database: Database, request: Request) -> list[Step]:
    return [(step[0], request.number("limit")) for step in _prepare_get(database, request)]


async def _alist(to: Target, step: Step) -> list[CheckpointTuple]:
    return [found async for found in to.saver.alist(step[0], limit=step[1])]


def _sample_list(_: Database, __: Request, ___: Step, found: list[CheckpointTuple]) -> str:
    return f"{len(found)}:{payloads.digest(found[0].checkpoint['channel_values'])}"


def _prepare_delta_history(database: Database, request: Request) -> list[Step]:
    if not database.filled(request.text("thread")).has_channel:
        raise Refused(f"thread {request.text('thread')!r} has no channel {CHANNEL!r}: fill it with a payload of messages")
    return _prepare_get(database, request)


def _sample_delta_history(_: Database, __: Request, ___: Step, found: Mapping[str, Any]) -> str:
    history = found[CHANNEL]
    seed = history.get("seed", [])
    messages = list(seed.value if isinstance(seed, _DeltaSnapshot) else seed)
    for _task, _channel, written in history["writes"]:
        messages += written
    return f"{len(history['writes'])}:{payloads.messages_digest(messages)}"


def _prepare_delete(database: Database, request: Request) -> list[Step]:
    threads = [_fresh("delete") for _ in range(request.number("count"))]
    for thread in threads:
        database.fill(thread, request.number("checkpoints"), request.text("payload"))
        database.forget(thread)
    return [(thread,) for thread in threads]


def _sample_delete(database: Database, _: Request, step: Step, __: Any) -> str:
    left = list(database.saver.list(_config(step[0])))
    if left:
        raise AssertionError(f"thread {step[0]!r} has {len(left)} checkpoints after delete_thread")
    return "checkpoints=0"


# The store.


def _prepare_store_put(database: Database, request: Request) -> list[Step]:
    namespace, payload = ("bench", _fresh("put")), request.text("payload")
    return [
        (namespace, str(number), database.bodies.item(payload, number)) for number in range(request.number("count"))
    ]


def _sample_store_put(database: Database, _: Request, step: Step, __: Any) -> str:
    return _sample_item(database, _, step, database.store.get(step[0], step[1]))


def _sample_item(_: Database, __: Request, step: Step, item: Any) -> str:
    if item is None:
        raise AssertionError(f"there is no item {step[1]!r} in namespace {step[0]}")
    return payloads.digest(item.value)


def _prepare_store_get(database: Database, request: Request) -> list[Step]:
    namespace = ("bench", "items", request.text("thread"))
    items = database.fill_items(database.store, namespace, request)
    return [(namespace, str(number % items)) for number in range(request.number("count"))]


def _prepare_store_search(database: Database, request: Request) -> list[Step]:
    database.need_vectors()
    namespace, payload = ("bench", "searched", request.text("thread")), request.text("payload")
    items = database.fill_items(database.searched, namespace, request)
    steps: list[Step] = []
    for number in range(request.number("count")):
        # The text of an item, which is therefore its own nearest; embedded before the clock starts, as is the item's.
        [query] = get_text_at_path(database.bodies.item(payload, number % items), "$")
        EMBEDDINGS.embed_query(query)
        steps.append((namespace, query, request.number("limit")))
    return steps


def _sample_search(_: Database, __: Request, step: Step, items: list[Any]) -> str:
    if not items:
        raise AssertionError(f"nothing was found in namespace {step[0]}")
    return f"{len(items)}:{payloads.digest(items[0].value)}"


def _prepare_store_batch(database: Database, request: Request) -> list[Step]:
    namespace, fresh, payload = ("bench", "items", request.text("thread")), _fresh("batch"), request.text("payload")
    items, writes = database.fill_items(database.store, namespace, request), request.number("writes")
    return [
        (
            [
                GetOp(namespace, str((number * writes + place) % items))
                if place % 2 == 0
                else PutOp(("bench", fresh), f"{number}-{place}", database.bodies.item(payload, place))
                for place in range(writes)
            ],
        )
        for number in range(request.number("count"))
    ]


def _sample_batch(_: Database, __: Request, step: Step, results: list[Any]) -> str:
    got = [item for operation, item in zip(step[0], results, strict=True) if isinstance(operation, GetOp)]
    if None in got:
        raise AssertionError("an item was not found by a batch")
    return f"{len(results)}:{payloads.digest(got[-1].value)}"


OPERATIONS = {
    "put": Operation(_prepare_put, lambda to, s: to.saver.put(*s), lambda to, s: to.saver.aput(*s), _sample_put),
    "put_writes": Operation(
        _prepare_put_writes,
        lambda to, s: to.saver.put_writes(*s),
        lambda to, s: to.saver.aput_writes(*s),
        _sample_put_writes,
    ),
    "get": Operation(
        _prepare_get, lambda to, s: to.saver.get_tuple(*s), lambda to, s: to.saver.aget_tuple(*s), _sample_get
    ),
    "get_by_id": Operation(
        _prepare_get_by_id, lambda to, s: to.saver.get_tuple(*s), lambda to, s: to.saver.aget_tuple(*s), _sample_get
    ),
    "list": Operation(_prepare_list, lambda to, s: list(to.saver.list(s[0], limit=s[1])), _alist, _sample_list),
    "delta_history": Operation(
        _prepare_delta_history,
        lambda to, s: to.saver.get_delta_channel_history(config=s[0], channels=[CHANNEL]),
        lambda to, s: to.saver.aget_delta_channel_history(config=s[0], channels=[CHANNEL]),
        _sample_delta_history,
    ),
    "delete_thread": Operation(
        _prepare_delete,
        lambda to, s: to.saver.delete_thread(*s),
        lambda to, s: to.saver.adelete_thread(*s),
        _sample_delete,
    ),
    "store_put": Operation(
        _prepare_store_put, lambda to, s: to.store.put(*s), lambda to, s: to.store.aput(*s), _sample_store_put
    ),
    "store_get": Operation(
        _prepare_store_get, lambda to, s: to.store.get(*s), lambda to, s: to.store.aget(*s), _sample_item
    ),
    "store_search": Operation(
        _prepare_store_search,
        lambda to, s: to.searched.search(s[0], query=s[1], limit=s[2]),
        lambda to, s: to.searched.asearch(s[0], query=s[1], limit=s[2]),
        _sample_search,
    ),
    "store_batch": Operation(
        _prepare_store_batch, lambda to, s: to.store.batch(*s), lambda to, s: to.store.abatch(*s), _sample_batch
    ),
}
