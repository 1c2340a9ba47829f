"""A LangGraph checkpointer that forwards to the Go saver and has no rule of its own.

What it does itself is what every LangGraph saver does in Python: serialize values with LangGraph's serializer, and take
the metadata together with LangGraph's own helper.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from bridge import Bridge

Json = dict[str, Any]


class BridgeSaver(BaseCheckpointSaver[str]):
    """The Go saver, as LangGraph wants a checkpointer: every method synchronous and asynchronous."""

    def __init__(self, bridge: Bridge, **options: Any) -> None:
        super().__init__(**options)
        self.bridge = bridge

    # What each operation asks for.

    def _get(self, config: RunnableConfig) -> Future[Any]:
        return self.bridge.call("get_tuple", {"config": place(config)})

    def _list(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Future[Any]:
        at = config["configurable"] if config else {}
        return self.bridge.call(
            "list",
            {
                "thread_id": at.get("thread_id"),
                "checkpoint_ns": at.get("checkpoint_ns"),
                "checkpoint_id": at.get("checkpoint_id"),
                "filter": filter,
                "before": before["configurable"].get("checkpoint_id") if before else None,
                "limit": limit,
            },
        )

    def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Future[Any]:
        values = checkpoint["channel_values"]
        plain = {channel: value for channel, value in values.items() if is_json(value)}
        return self.bridge.call(
            "put",
            {
                "config": place(config),
                "checkpoint": {**checkpoint, "channel_values": plain},
                "channel_values": {
                    channel: self._dump(value) for channel, value in values.items() if channel not in plain
                },
                "snapshots": [channel for channel, value in values.items() if isinstance(value, _DeltaSnapshot)],
                "metadata": get_serializable_checkpoint_metadata(config, metadata),
                "new_versions": new_versions,
            },
        )

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Future[Any]:
        return self.bridge.call(
            "put_writes",
            {
                "config": place(config),
                "writes": [{"channel": channel, "value": self._dump(value)} for channel, value in writes],
                "task_id": task_id,
                "task_path": task_path,
            },
        )

    def _delta_history(self, config: RunnableConfig, channels: Sequence[str]) -> Future[Any]:
        return self.bridge.call("delta_history", {"config": place(config), "channels": list(channels)})

    # How values and answers convert.

    def _dump(self, value: Any) -> Json:
        tag, data = self.serde.dumps_typed(value)
        return {"type": tag, "data": base64.b64encode(data).decode()}

    def _load(self, value: Json) -> Any:
        if "typed" in value:
            return self.serde.loads_typed((value["typed"]["type"], base64.b64decode(value["typed"]["data"])))
        if "items" in value:
            return [self._load(item) for item in value["items"]]
        return value["inline"]["value"]

    def _writes(self, writes: list[Json]) -> list[tuple[str, str, Any]]:
        return [(write["task_id"], write["channel"], self._load(write["value"])) for write in writes]

    def _tuple(self, answer: Json) -> CheckpointTuple:
        values = {channel: self._load(value) for channel, value in answer["channel_values"].items()}
        parent = answer["parent_config"]
        return CheckpointTuple(
            config={"configurable": answer["config"]},
            checkpoint={**answer["checkpoint"], "channel_values": values},
            metadata=answer["metadata"],
            parent_config={"configurable": parent} if parent else None,
            pending_writes=self._writes(answer["pending_writes"]),
        )

    def _histories(self, answer: Json | None, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        histories: dict[str, DeltaChannelHistory] = {}
        for channel in channels:
            history = answer[channel] if answer is not None else {"writes": []}
            histories[channel] = {"writes": self._writes(history["writes"])}
            if "seed" in history:
                histories[channel]["seed"] = self._load(history["seed"])
        return histories

    # The methods of a checkpointer.

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        answer = self._get(config).result()
        return self._tuple(answer) if answer else None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        answer = await asyncio.wrap_future(self._get(config))
        return self._tuple(answer) if answer else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        for answer in self._list(config, filter, before, limit).result():
            yield self._tuple(answer)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for answer in await asyncio.wrap_future(self._list(config, filter, before, limit)):
            yield self._tuple(answer)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return {"configurable": self._put(config, checkpoint, metadata, new_versions).result()}

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return {"configurable": await asyncio.wrap_future(self._put(config, checkpoint, metadata, new_versions))}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._put_writes(config, writes, task_id, task_path).result()

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await asyncio.wrap_future(self._put_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        self.bridge.call("delete_thread", {"thread_id": thread_id}).result()

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.wrap_future(self.bridge.call("delete_thread", {"thread_id": thread_id}))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.bridge.call("delete_for_runs", {"run_ids": list(run_ids)}).result()

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await asyncio.wrap_future(self.bridge.call("delete_for_runs", {"run_ids": list(run_ids)}))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.bridge.call("copy_thread", threads(source_thread_id, target_thread_id)).result()

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await asyncio.wrap_future(self.bridge.call("copy_thread", threads(source_thread_id, target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.bridge.call("prune", {"thread_ids": list(thread_ids), "strategy": strategy}).result()

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await asyncio.wrap_future(
            self.bridge.call("prune", {"thread_ids": list(thread_ids), "strategy": strategy})
        )

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._histories(self._delta_history(config, channels).result(), channels)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._histories(await asyncio.wrap_future(self._delta_history(config, channels)), channels)

    def get_next_version(self, current: str | None, channel: None) -> str:
        return self.bridge.call("next_version", {"current": current}).result()


def place(config: RunnableConfig) -> Json:
    """The thread, namespace and checkpoint that a config names."""
    at = config["configurable"]
    return {
        "thread_id": at["thread_id"],
        "checkpoint_ns": at.get("checkpoint_ns", ""),
        "checkpoint_id": at.get("checkpoint_id"),
    }


def is_json(value: Any) -> bool:
    """Whether a value passes to the Go saver as JSON, which then decides how it is kept, rather than serialized."""
    if type(value) not in (type(None), bool, int, float, str):
        return False
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


def threads(source: str, target: str) -> Json:
    return {"source_thread_id": source, "target_thread_id": target}
