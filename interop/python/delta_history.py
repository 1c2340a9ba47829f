"""get_delta_channel_history through the Go saver, which answers it by one walk in SQL, against LangGraph's own answers.

Every thread is put in the Go saver and in LangGraph's InMemorySaver. What the Go saver says, synchronously and
asynchronously, has to be what the InMemorySaver says, and what LangGraph's default finds by walking get_tuple of the Go
saver; and, where a test says so, what is expected in so many words.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
import random
import uuid
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Overwrite, Send

from compare import assert_same
from groups import Count, Group

group = Group()

NOTHING = object()
# The metadata by which a runtime says which channels are delta channels.
DELTA = {"counters_since_delta_snapshot": {"items": [1, 1]}}


class Threads:
    """Two savers with the same threads in them."""

    def __init__(self, saver: BaseCheckpointSaver) -> None:
        self.saver = saver
        self.oracle = InMemorySaver()
        self._counter = itertools.count(1)

    def new(self, namespace: str = "", thread_id: str | None = None) -> RunnableConfig:
        at = {"thread_id": thread_id or str(uuid.uuid4()), "checkpoint_ns": namespace}
        return {"configurable": at}

    async def put(
        self,
        parent: RunnableConfig,
        values: dict[str, Any] | None = None,
        *,
        checkpoint_id: str | None = None,
        cleared: Sequence[str] = (),
        carried: dict[str, Any] | None = None,
        unchanged: dict[str, Any] | None = None,
        version: Any = None,
        metadata: dict[str, Any] | None = None,
    ) -> RunnableConfig:
        """Put a checkpoint below a parent, with values that are new in it.

        Carried are the channel versions that it takes over, unchanged the plain values among what they stand for.
        """
        number = next(self._counter)
        values = values or {}
        if version is None:
            version = f"{number:032}.{0.5:016}"
        new_versions = dict.fromkeys([*values, *cleared], version)
        checkpoint = {
            "v": 4,
            "id": checkpoint_id or f"{number:08}",
            "ts": "2026-01-01T00:00:00+00:00",
            "channel_values": {**(unchanged or {}), **values},
            "channel_versions": {**(carried or {}), **new_versions},
            "versions_seen": {},
            "updated_channels": None,
        }
        metadata = {"source": "loop", "step": number, "parents": {}, **(metadata or {})}
        self.oracle.put(parent, checkpoint, metadata, new_versions)
        return await self.saver.aput(parent, checkpoint, metadata, new_versions)

    async def write(
        self, config: RunnableConfig, *writes: tuple[str, Any], task: str = "task", path: str = ""
    ) -> None:
        self.oracle.put_writes(config, writes, task, path)
        await self.saver.aput_writes(config, writes, task, path)

    async def chain(
        self, length: int, *, snapshots: Sequence[int] = (), counted: bool = True
    ) -> list[RunnableConfig]:
        """Checkpoints in a line, each with the write of its number to the channel items; some with a snapshot."""
        configs, parent = [], self.new()
        for number in range(length):
            values = {"items": _DeltaSnapshot(list(range(number)))} if number in snapshots else None
            parent = await self.put(parent, values, metadata=DELTA if counted else None)
            await self.write(parent, ("items", number))
            configs.append(parent)
        return configs

    async def histories(self, config: RunnableConfig, channels: Sequence[str]) -> dict[str, Any]:
        """What the Go saver says, after comparing it with what LangGraph says."""
        got = self.saver.get_delta_channel_history(config=config, channels=channels)
        asynchronous = await self.saver.aget_delta_channel_history(config=config, channels=channels)
        assert_same("the asynchronous answer", asynchronous, got)
        oracle = self.oracle.get_delta_channel_history(config=config, channels=channels)
        assert_same("the InMemorySaver's answer", got, oracle)
        walked = BaseCheckpointSaver.get_delta_channel_history(self.saver, config=config, channels=channels)
        assert_same("the answer of walking get_tuple", got, walked)
        return dict(got)

    async def check(
        self, config: RunnableConfig, writes: list[Any], seed: Any = NOTHING, channel: str = "items"
    ) -> dict[str, Any]:
        history = (await self.histories(config, [channel]))[channel]
        assert_same("writes", [value for _, _, value in history["writes"]], writes)
        assert_same("channels of the writes", {name for _, name, _ in history["writes"]} - {channel}, set())
        if seed is NOTHING:
            assert "seed" not in history, f"there is no stored value, and the seed is {history['seed']!r}"
        else:
            assert_same("seed", history["seed"], seed)
        return history


def at(config: RunnableConfig, **changes: Any) -> RunnableConfig:
    return {"configurable": {**config["configurable"], **changes}}


@group.test
async def first_checkpoint_has_no_history(threads: Threads) -> None:
    [only] = await threads.chain(1, snapshots=[0])
    await threads.check(only, [])


@group.test
async def writes_come_oldest_first(threads: Threads) -> None:
    configs = await threads.chain(6)
    await threads.check(configs[-1], [0, 1, 2, 3, 4])


@group.test
async def writes_of_the_checkpoint_itself_are_left_out(threads: Threads) -> None:
    configs = await threads.chain(3)
    await threads.write(configs[-1], ("items", "pending"), task="another")
    await threads.check(configs[-1], [0, 1])
    await threads.check(configs[1], [0])


@group.test
async def nearest_snapshot_is_the_seed(threads: Threads) -> None:
    configs = await threads.chain(8, snapshots=[1, 4])
    await threads.check(configs[-1], [4, 5, 6], _DeltaSnapshot([0, 1, 2, 3]))
    await threads.check(configs[5], [4], _DeltaSnapshot([0, 1, 2, 3]))
    await threads.check(configs[4], [1, 2, 3], _DeltaSnapshot([0]))
    await threads.check(configs[1], [0])


@group.test
async def plain_value_from_before_the_channel_was_a_delta_channel_is_a_seed(threads: Threads) -> None:
    old = await threads.put(threads.new(), {"items": ["kept"]})
    await threads.write(old, ("items", "after"))
    head = await threads.put(old)
    await threads.check(head, ["after"], ["kept"])


@group.test
async def every_kind_of_primitive_is_a_seed(threads: Threads) -> None:
    await seeds(threads, [True, False, 0, 1, -1, 2**63 - 1, 2**64 - 1, 0.0, 1.0, 0.1 + 0.2, "", "text", "\\u0000"])


@group.test
async def primitives_that_jsonb_would_change_are_seeds(threads: Threads) -> None:
    await seeds(threads, [1e22, 1e300, -0.0, math.nan, math.inf, "\x00", "with \x00 in it"])


group.beyond_postgres_saver["primitives_that_jsonb_would_change_are_seeds"] = "it puts them in jsonb"


async def seeds(threads: Threads, values: list[Any]) -> None:
    for value in values:
        old = await threads.put(threads.new(), {"items": value})
        await threads.write(old, ("items", "after"))
        await threads.check(await threads.put(old), ["after"], value)


@group.test
async def empty_collections_and_snapshots_of_nothing_are_seeds(threads: Threads) -> None:
    for value in ([], {}, set(), b"", bytearray(), _DeltaSnapshot([]), _DeltaSnapshot(None), _DeltaSnapshot(True)):
        old = await threads.put(threads.new(), {"items": value})
        await threads.check(await threads.put(old), [], value)


@group.test
async def none_is_no_seed(threads: Threads) -> None:
    """Here LangGraph's savers differ: it is none to its PostgresSaver, as to ours, and one to its InMemorySaver."""
    root = await threads.put(threads.new())
    await threads.write(root, ("items", "before"))
    old = await threads.put(root, {"items": None})
    await threads.write(old, ("items", "after"))
    head = await threads.put(old)
    got = await threads.saver.aget_delta_channel_history(config=head, channels=["items"])
    want = {"items": {"writes": [("task", "items", "before"), ("task", "items", "after")]}}
    assert_same("history", got, want)


@group.test
async def cleared_channel_is_no_seed(threads: Threads) -> None:
    old = await threads.put(threads.new(), {"items": ["cleared"]})
    cleared = await threads.put(old, cleared=["items"])
    await threads.write(cleared, ("items", "after"))
    await threads.check(await threads.put(cleared), ["after"], ["cleared"])


@group.test
async def value_that_a_checkpoint_shares_with_its_parent_is_a_seed_there(threads: Threads) -> None:
    stored = await threads.put(threads.new(), {"items": _DeltaSnapshot(["seed"])}, version="7")
    await threads.write(stored, ("items", "older"))
    sharing = await threads.put(stored, carried={"items": "7"})
    await threads.write(sharing, ("items", "newer"))
    await threads.check(await threads.put(sharing), ["newer"], _DeltaSnapshot(["seed"]))


@group.test
async def channels_stop_each_at_its_own_seed(threads: Threads) -> None:
    parent = threads.new()
    for number, values in enumerate([{}, {"a": _DeltaSnapshot("A")}, {}, {"b": _DeltaSnapshot("B")}, {}]):
        parent = await threads.put(parent, values)
        await threads.write(parent, ("a", number), ("b", -number), ("c", number * 10))
    head = await threads.put(parent)
    got = await threads.histories(head, ["c", "a", "b", "never"])
    values = {channel: [value for _, _, value in history["writes"]] for channel, history in got.items()}
    assert_same("writes", values, {"a": [1, 2, 3, 4], "b": [-3, -4], "c": [0, 10, 20, 30, 40], "never": []})
    seeds = {channel: history["seed"] for channel, history in got.items() if "seed" in history}
    assert_same("seeds", seeds, {"a": _DeltaSnapshot("A"), "b": _DeltaSnapshot("B")})


@group.test
async def other_branches_do_not_count(threads: Threads) -> None:
    trunk = await threads.chain(3, snapshots=[0])
    left = await threads.put(trunk[1])
    await threads.write(left, ("items", "left"))
    right = await threads.put(trunk[1], {"items": _DeltaSnapshot("right")})
    await threads.write(right, ("items", "right"))
    await threads.check(await threads.put(left), [0, 1, "left"], _DeltaSnapshot([]))
    await threads.check(await threads.put(right), ["right"], _DeltaSnapshot("right"))
    await threads.check(trunk[2], [0, 1], _DeltaSnapshot([]))


@group.test
async def parents_count_and_not_the_order_of_ids(threads: Threads) -> None:
    parent = threads.new()
    for checkpoint_id in ("m", "z", "a", "k"):
        parent = await threads.put(parent, checkpoint_id=checkpoint_id)
        await threads.write(parent, ("items", checkpoint_id))
    await threads.check(await threads.put(parent, checkpoint_id="b"), ["m", "z", "a", "k"])


group.beyond_postgres_saver["parents_count_and_not_the_order_of_ids"] = "it looks for ancestors among smaller ids"


@group.test
async def parallel_tasks_apply_by_path(threads: Threads) -> None:
    step = await threads.put(threads.new())
    await threads.write(step, ("items", "second"), task="0", path="~__pregel_pull, b")
    await threads.write(step, ("items", "first"), task="f", path="~__pregel_pull, a")
    await threads.write(step, ("items", "third"), task="7", path="~__pregel_push, 0000000001")
    await threads.check(await threads.put(step), ["first", "second", "third"])


@group.test
async def writes_without_a_path_apply_first_by_task(threads: Threads) -> None:
    step = await threads.put(threads.new())
    await threads.write(step, ("items", "node"), task="0", path="~__pregel_pull, a")
    await threads.write(step, ("items", "later input"), task="b")
    await threads.write(step, ("items", "input"), task="a")
    await threads.check(await threads.put(step), ["input", "later input", "node"])


@group.test
async def writes_of_one_task_keep_their_order(threads: Threads) -> None:
    step = await threads.put(threads.new())
    await threads.write(step, *[("items" if i % 2 else "others", i) for i in range(24)], task="a", path="p")
    await threads.check(await threads.put(step), list(range(1, 24, 2)))


@group.test
async def reserved_channels_have_a_history_too(threads: Threads) -> None:
    step = await threads.put(threads.new())
    await threads.write(step, ("__error__", "boom"), task="a", path="p")
    await threads.write(step, ("items", 1), ("__resume__", ["yes"]), task="b", path="p")
    head = await threads.put(step)
    await threads.check(head, [1])
    await threads.check(head, ["boom"], channel="__error__")
    await threads.check(head, [["yes"]], channel="__resume__")


@group.test
async def task_that_runs_again_counts_once(threads: Threads) -> None:
    step = await threads.put(threads.new())
    await threads.write(step, ("items", "first run"), task="a", path="p")
    await threads.write(step, ("items", "second run"), task="a", path="p")
    await threads.check(await threads.put(step), ["first run"])


@group.test
async def namespaces_are_apart(threads: Threads) -> None:
    root = await threads.chain(2)
    thread_id = root[0]["configurable"]["thread_id"]
    inner = await threads.put(threads.new("inner:1", thread_id), {"items": _DeltaSnapshot("inner")})
    await threads.write(inner, ("items", "inner"))
    await threads.check(await threads.put(root[-1]), [0, 1])
    await threads.check(await threads.put(inner), ["inner"], _DeltaSnapshot("inner"))


@group.test
async def threads_are_apart(threads: Threads) -> None:
    for thread_id in ("apart", "apart2", "APART"):
        config = await threads.put(threads.new("", thread_id), checkpoint_id="1")
        await threads.write(config, ("items", thread_id))
        await threads.put(config, checkpoint_id="2")
    for thread_id in ("apart", "apart2", "APART"):
        await threads.check(at(threads.new("", thread_id), checkpoint_id="2"), [thread_id])


@group.test
async def without_an_id_the_newest_checkpoint_is_meant(threads: Threads) -> None:
    configs = await threads.chain(4, snapshots=[1])
    await threads.check(at(configs[0], checkpoint_id=None), [1, 2], _DeltaSnapshot([0]))


@group.test
async def no_channels_give_an_empty_mapping(threads: Threads) -> None:
    configs = await threads.chain(2)
    assert_same("histories", await threads.histories(configs[-1], []), {})


@group.test
async def unknown_channel_has_no_history(threads: Threads) -> None:
    configs = await threads.chain(3, snapshots=[1])
    await threads.check(configs[-1], [], channel="unknown")


@group.test
async def missing_checkpoint_has_no_history(threads: Threads) -> None:
    configs = await threads.chain(3)
    await threads.check(at(configs[0], checkpoint_id="missing"), [])
    await threads.check(threads.new("", "missing"), [])
    await threads.check(at(configs[0], checkpoint_ns="missing"), [])


@group.test
async def walk_ends_where_a_parent_is_missing(threads: Threads) -> None:
    orphan = await threads.put(at(threads.new(), checkpoint_id="00000000"))
    await threads.write(orphan, ("items", "kept"))
    await threads.check(await threads.put(orphan), ["kept"])


@group.test
async def values_of_every_type_come_back(threads: Threads) -> None:
    values = [
        None, True, 2**63, -(2**63), 1.5, math.nan, -0.0, math.inf, "\x00", "線と糸 🧶", b"\x00\xff",
        {1, 2, 3}, frozenset({"a"}), {1: "one", (2, 3): "pair"}, {"nested": [{"deep": [None]}]},
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC), datetime.date(2026, 1, 2),
        datetime.timedelta(seconds=1.5), uuid.UUID(int=7), decimal.Decimal("1.10"),
        HumanMessage("hi", id="1"), AIMessage("yes", id="2", tool_calls=[{"name": "t", "args": {"a": 1.0}, "id": "c"}]),
        Overwrite(["over"]), Send("node", {"arg": 1}),
    ]
    step = await threads.put(threads.new(), {"items": _DeltaSnapshot(values)})
    await threads.write(step, *[("items", value) for value in values])
    await threads.check(await threads.put(step), values, _DeltaSnapshot(values))


@group.test
async def versions_of_every_kind_find_the_seed(threads: Threads) -> None:
    for version in (1, 2**53 + 1, 1.0, 2.5, "1", "1.0", "00000000000000000000000000000003.0.123"):
        stored = await threads.put(threads.new(), {"items": _DeltaSnapshot(["seed"])}, version=version)
        await threads.check(await threads.put(stored), [], _DeltaSnapshot(["seed"]))
        kept = (await threads.saver.aget_tuple(stored)).checkpoint["channel_versions"]
        assert_same("version", kept, {"items": version})


@group.test
async def long_histories_come_whole(threads: Threads) -> None:
    configs = await threads.chain(1200)
    history = threads.saver.get_delta_channel_history(config=configs[-1], channels=["items"])
    assert_same("history", history, threads.oracle.get_delta_channel_history(config=configs[-1], channels=["items"]))
    assert_same("writes", [value for _, _, value in history["items"]["writes"]], list(range(1199)))


@group.test
async def channel_rebuilt_from_history_is_what_the_run_had(threads: Threads) -> None:
    def extend(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
        return [*state, *itertools.chain.from_iterable(writes)]

    live = DeltaChannel(extend, list)
    parent = await threads.put(threads.new())
    for step in range(12):
        updates = [[step, part] for part in range(step % 3 + 1)]
        if step == 5:
            updates = [Overwrite(["reset"])]
        for part, update in enumerate(updates):
            await threads.write(parent, ("items", update), task=str(9 - part), path=f"path {part}")
        live.update(updates)
        parent = await threads.put(parent, {"items": _DeltaSnapshot(live.get())} if step == 8 else None)
        child = await threads.put(parent)
        history = (await threads.histories(child, ["items"]))["items"]
        rebuilt = DeltaChannel(extend, list).from_checkpoint(history["seed"] if "seed" in history else [])
        rebuilt.replay_writes(history["writes"])
        assert_same(f"the channel after step {step}", rebuilt.get(), live.get())


@group.test
async def copied_thread_has_the_same_history(threads: Threads) -> None:
    configs = await threads.chain(9, snapshots=[2])
    target = str(uuid.uuid4())
    await threads.saver.acopy_thread(configs[0]["configurable"]["thread_id"], target)
    for config in configs:
        copied = await threads.saver.aget_delta_channel_history(config=at(config, thread_id=target), channels=["items"])
        assert_same("history of the copy", copied, await threads.histories(config, ["items"]))


@group.test
async def pruned_thread_keeps_the_history_of_what_stays(threads: Threads) -> None:
    for snapshots in ([], [3], [3, 7]):
        await prune_and_check(threads, await threads.chain(9, snapshots=snapshots), snapshots)


@group.test
async def delta_channel_is_known_by_its_snapshots_too(threads: Threads) -> None:
    await prune_and_check(threads, await threads.chain(9, snapshots=[2, 5], counted=False), [2, 5])


async def prune_and_check(threads: Threads, configs: list[RunnableConfig], snapshots: list[int]) -> None:
    thread_id = configs[0]["configurable"]["thread_id"]
    await threads.saver.aprune([thread_id], strategy="keep_latest")
    start = max(snapshots, default=0)
    await threads.check(configs[-1], list(range(start, 8)), _DeltaSnapshot(list(range(start))) if snapshots else NOTHING)
    left = {t.config["configurable"]["checkpoint_id"] async for t in threads.saver.alist(threads.new("", thread_id))}
    assert_same("checkpoints left", left, {config["configurable"]["checkpoint_id"] for config in configs[start:]})


@group.test
async def deleted_run_that_a_live_channel_needs_stays_readable(threads: Threads) -> None:
    parent, runs = threads.new(), [str(uuid.uuid4()) for _ in range(4)]
    for number, run in enumerate(runs):
        parent = await threads.put(parent, metadata={"run_id": run, **DELTA})
        await threads.write(parent, ("items", number))
    await threads.saver.adelete_for_runs([runs[1]])
    await threads.check(parent, [0, 1, 2])


@group.test
async def random_threads_have_the_same_histories_everywhere(threads: Threads) -> None:
    for seed in range(15):
        await random_thread(threads, seed, in_order=True)


@group.test
async def random_threads_with_ids_in_any_order_have_them_too(threads: Threads) -> None:
    for seed in range(15):
        await random_thread(threads, seed, in_order=False)


group.beyond_postgres_saver["random_threads_with_ids_in_any_order_have_them_too"] = (
    "it looks for ancestors among smaller ids"
)


async def random_thread(threads: Threads, seed: int, in_order: bool) -> None:
    """A tree of checkpoints with values, snapshots and writes at random; all histories in it are compared."""
    chance = random.Random(seed)
    channels = ["a", "b", "c"]
    thread = threads.new(chance.choice(["", "inner:1"]))
    ids = chance.sample(range(1000), 18)
    if in_order:
        ids.sort()
    placed: list[tuple[RunnableConfig, dict[str, Any], dict[str, Any]]] = []
    for number in ids:
        parent, versions, unchanged = chance.choice([*placed[-3:], chance.choice(placed)]) if placed else (thread, {}, {})
        # Not None, about which LangGraph's own savers differ.
        values = {
            channel: chance.choice([_DeltaSnapshot([number]), [number], number, f"value {number}"])
            for channel in channels
            if chance.random() < 0.15
        }
        cleared = [channel for channel in channels if channel not in values and chance.random() < 0.2]
        unchanged = {channel: value for channel, value in unchanged.items() if channel not in cleared}
        config = await threads.put(
            parent, values, cleared=cleared, carried=versions, unchanged=unchanged, checkpoint_id=f"{number:04}"
        )
        put = await threads.saver.aget_tuple(config)
        plain = {**unchanged, **values}
        plain = {channel: value for channel, value in plain.items() if not isinstance(value, _DeltaSnapshot)}
        placed.append((config, put.checkpoint["channel_versions"], plain))
        for task in range(chance.randrange(4)):
            writes = [(chance.choice(channels), [number, task, i]) for i in range(chance.randrange(1, 4))]
            await threads.write(config, *writes, task=f"{chance.randrange(100):02}", path=chance.choice(["", "p1", "p2"]))
    for config, _, _ in placed:
        try:
            await threads.histories(config, channels)
        except AssertionError as error:
            raise AssertionError(f"random thread {seed}, {config}: {error}") from None


async def run(name: str, saver: BaseCheckpointSaver, shared: bool = False) -> Count:
    return await group.run(name, Threads(saver), variants={"": ()}, shared=shared)
