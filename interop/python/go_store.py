"""Go's pgstore as a LangGraph store without rules of its own, and its embedder for Python's stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, SearchItem, SearchOp

from bridge import Bridge

Json = dict[str, Any]


def embedder(bridge: Bridge, dims: int) -> Callable[[Sequence[str]], list[list[float]]]:
    """An embedding function whose vectors are those of Go's local embedder, to the bit."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        vectors = bridge.call("embed", {"dims": dims, "texts": list(texts)}).result()
        # JSON has 0.0 as 0, and a list of floats and integers is none that psycopg can send.
        return [[float(x) for x in vector] for vector in vectors]

    return embed


class GoStore(BaseStore):
    """Another program, in Go, on the same database; index has dims, distance, vector_type and fields."""

    supports_ttl = True

    def __init__(self, bridge: Bridge, database_url: str, index: Json | None) -> None:
        self._bridge = bridge
        self._where = {"database_url": database_url, "schema": "langgraph", "index": index}
        # The texts of items that the last call had to embed.
        self.embedded: list[str] = []

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        ops = list(ops)
        answer = self._bridge.call("store_batch", {**self._where, "ops": [described(op) for op in ops]}).result()
        self.embedded = answer["embedded"]
        return [result_of(op, result) for op, result in zip(ops, answer["results"], strict=True)]

    async def abatch(self, ops: Iterable[Op]) -> list[Any]:
        return await asyncio.to_thread(self.batch, ops)


def described(op: Op) -> Json:
    if isinstance(op, GetOp):
        return {"get": {"namespace": op.namespace, "key": op.key, "refresh_ttl": op.refresh_ttl}}
    if isinstance(op, PutOp):
        index = [] if op.index is False else op.index
        return {"put": {"namespace": op.namespace, "key": op.key, "value": op.value, "index": index, "ttl_minutes": op.ttl}}
    if isinstance(op, SearchOp):
        return {"search": {
            "namespace_prefix": op.namespace_prefix, "filter": op.filter, "limit": op.limit, "offset": op.offset,
            "query": op.query or "", "refresh_ttl": op.refresh_ttl,
        }}
    assert isinstance(op, ListNamespacesOp), f"Go's store has no {op}"
    match = [{"type": condition.match_type, "path": condition.path} for condition in op.match_conditions or ()]
    return {"list_namespaces": {"match": match, "max_depth": op.max_depth or 0, "limit": op.limit, "offset": op.offset}}


def result_of(op: Op, result: Json) -> Any:
    if isinstance(op, GetOp):
        return Item(**fields(result["item"])) if "item" in result else None
    if isinstance(op, SearchOp):
        return [SearchItem(**fields(item), score=score_of(item)) for item in result.get("items", [])]
    if isinstance(op, ListNamespacesOp):
        return [tuple(namespace) for namespace in result.get("namespaces", [])]
    return None


def score_of(item: Json) -> float | None:
    return None if item["score"] is None else float(item["score"])


def fields(item: Json) -> Json:
    return {
        "namespace": tuple(item["namespace"]), "key": item["key"], "value": item["value"],
        "created_at": datetime.fromisoformat(item["created_at"]), "updated_at": datetime.fromisoformat(item["updated_at"]),
    }
