"""LangGraph's own PostgresStore, unmodified, on our store table, under a role that may not change it.

Here there are no vectors, and what is in the table is compared by SQL; Go and vectors come in shared_store.py.
"""

from __future__ import annotations

from typing import Any

import psycopg
from langgraph.store.base import PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.postgres.aio import AsyncPostgresStore

import database
import shared_store
from bridge import Bridge
from compare import assert_same
from groups import Count, Group

group = Group()


class Stores:
    """Two stores with the same items: ours, and LangGraph's InMemoryStore to compare with."""

    def __init__(self, url: str, store: PostgresStore) -> None:
        self.url, self.store, self.oracle = url, store, InMemoryStore()

    def put(self, *arguments: Any) -> None:
        self.store.put(*arguments)
        self.oracle.put(*arguments)

    def compare(self, method: str, *arguments: Any, **options: Any) -> Any:
        got, want = (getattr(store, method)(*arguments, **options) for store in (self.store, self.oracle))
        assert_same(f"{method}{arguments}{options}", plain(got), plain(want))
        return got

    def sql(self, query: str, *parameters: Any) -> list[tuple]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(query, parameters).fetchall()


def plain(answer: Any) -> Any:
    """An answer without the times, which differ, and in no order, in which two stores may differ."""
    if isinstance(answer, list):
        return sorted((plain(item) for item in answer), key=repr)
    if hasattr(answer, "value"):
        return [answer.namespace, answer.key, answer.value]
    return answer


VALUES: list[dict[str, Any]] = [
    {}, {"n": 1, "f": 1.5, "t": "線 🧶", "l": [None, True, {"d": {}}]}, {"n": 2, "kind": "b"}, {"n": 10, "kind": "b", "": ""},
]


@group.test
async def items_are_put_read_searched_and_deleted(stores: Stores) -> None:
    for number, value in enumerate(VALUES):
        stores.put(("users", f"u{number % 2}"), f"k{number}", value)
    stores.put(("other",), "k0", {"kind": "b"})
    for number in range(len(VALUES)):
        stores.compare("get", ("users", f"u{number % 2}"), f"k{number}")
    stores.compare("get", ("users", "u0"), "missing")
    for options in ({}, {"filter": {"kind": "b"}}, {"filter": {"n": 2, "kind": {"$eq": "b"}}}, {"limit": 100}):
        stores.compare("search", ("users",), **options)
    stores.compare("search", ("users", "u1"))
    stores.compare("list_namespaces", prefix=("users",))
    stores.compare("list_namespaces", max_depth=1)
    stores.put(("users", "u0"), "k0", {"replaced": True})
    stores.compare("get", ("users", "u0"), "k0")
    for store in (stores.store, stores.oracle):
        store.delete(("users", "u0"), "k0")
    stores.compare("get", ("users", "u0"), "k0")
    rows = stores.sql("select prefix, key, value from langgraph.store where prefix like 'users%%' order by key")
    assert_same("the rows", [list(row) for row in rows],
                [[f"users.u{n % 2}", f"k{n}", VALUES[n]] for n in range(1, len(VALUES))])


@group.test
async def one_batch_mixes_operations(stores: Stores) -> None:
    operations = [PutOp(("batch",), "a", {"n": 1}), PutOp(("batch",), "b", {"n": 2}), SearchOp(("batch",))]
    stores.store.batch(operations)
    stores.oracle.batch(operations)
    stores.compare("search", ("batch",))


@group.test
async def ttl_moves_with_reads_and_items_expire(stores: Stores) -> None:
    stores.store.put(("ttl",), "k", {"n": 1}, ttl=60)
    [(minutes, first)] = stores.sql("select ttl_minutes, expires_at from langgraph.store where prefix = 'ttl'")
    assert_same("the minutes", minutes, 60.0)
    stores.store.get(("ttl",), "k", refresh_ttl=True)
    [(second,)] = stores.sql("select expires_at from langgraph.store where prefix = 'ttl'")
    assert second > first, "a read that refreshes did not move the time"
    stores.store.put(("ttl",), "k", {"n": 2}, ttl=None)
    [(expires,)] = stores.sql("select expires_at from langgraph.store where prefix = 'ttl'")
    assert expires is None, "an item put without a ttl expires"
    stores.store.put(("ttl",), "k", {"n": 3}, ttl=60)
    with psycopg.connect(stores.url) as owner:
        owner.execute("update langgraph.store set expires_at = now() - interval '1 minute' where prefix = 'ttl'")
    assert_same("swept", stores.store.sweep_ttl(), 1)
    assert_same("what is left", stores.sql("select count(*) from langgraph.store where prefix = 'ttl'"), [(0,)])


@group.test
async def items_that_sql_wrote_are_read(stores: Stores) -> None:
    with psycopg.connect(stores.url) as owner:
        owner.execute("insert into langgraph.store (prefix, key, value) values ('sql.a', 'k', '{\"from\": \"sql\", \"n\": 1.0}')")
    found = stores.store.get(("sql", "a"), "k")
    assert_same("the item", found.value, {"from": "sql", "n": 1.0})
    assert found.created_at == found.updated_at


async def run(bridge: Bridge, program: str) -> list[Count]:
    url = database.url_of(bridge)
    with database.runtime_role(bridge) as role:
        conninfo = database.conninfo(url, search_path="langgraph", role=role)
        with PostgresStore.from_conn_string(conninfo) as store:
            count = await group.run("PostgresStore on our table", Stores(url, store), variants={"": ()})
        try:
            async with AsyncPostgresStore.from_conn_string(conninfo) as store:
                await store.aput(("async",), "k", {"n": 1})
                assert_same("read again", (await store.aget(("async",), "k")).value, {"n": 1})
        except Exception as error:
            count.failed += 1
            print(f"  {count.name}: AsyncPostgresStore failed: {error!r}")
        else:
            count.passed += 1
        database.command(program, "migrate", url, "verify")
    return [count, *await shared_store.run(bridge, program)]
