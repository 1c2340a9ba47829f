"""Items and vectors that LangGraph's own PostgresStore and Go's pgstore share, both ways.

The tests run on every kind of vector index, each made by enable_vector_index in a database of its own with what LangGraph's
index configuration says. LangGraph's store is unmodified; its role may not change the schema, and its setup() is called. Both
sides embed with Go's local embedder.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, timedelta
from typing import Any

import psycopg
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.postgres import PostgresStore
from langgraph.store.postgres.aio import AsyncPostgresStore

import database
from bridge import Bridge, BridgeError
from compare import assert_same
from go_store import GoStore, embedder
from groups import Count, Group

group = Group()

DIMS = 64
FIELDS = ["text", "meta.title", "tags[*]"]
# How LangGraph's configuration describes each index: distance_type and ann_index_config.
INDEXES: list[tuple[str, dict[str, Any]]] = [
    ("cosine", {"kind": "hnsw", "vector_type": "vector"}),
    ("l2", {"kind": "hnsw", "vector_type": "halfvec", "m": 8, "ef_construction": 32}),
    ("inner_product", {"kind": "flat", "vector_type": "vector"}),
    ("cosine", {"kind": "ivfflat", "vector_type": "halfvec", "nlist": 4}),
]


class Both:
    """One database, and the two stores on it."""

    def __init__(self, bridge: Bridge, program: str, url: str, role: str, distance: str, ann: dict[str, Any]) -> None:
        self.bridge, self.program, self.url, self.role, self.distance, self.ann = bridge, program, url, role, distance, ann
        self.index = {
            "dims": DIMS, "embed": embedder(bridge, DIMS), "fields": FIELDS, "distance_type": distance, "ann_index_config": ann,
        }
        # The door for setup(), ours, and the schema of pgvector. Where LangGraph's query follows an index, it filters what that
        # gives it, by default far too little to find all that match; pgstore's search goes on until it has enough.
        self.conninfo = database.conninfo(
            url, search_path="langgraph_setup,langgraph,public", role=role, settings={"ivfflat.probes": 4, "hnsw.ef_search": 1000},
        )
        self.go = self.go_store()
        # Of the owner of the tables.
        self.owner: psycopg.Connection
        self.python: PostgresStore

    def go_store(self, **different: Any) -> GoStore:
        index = {"dims": DIMS, "distance": self.distance, "vector_type": self.ann["vector_type"], "fields": FIELDS}
        return GoStore(self.bridge, self.url, {**index, **different})

    def writers(self) -> Iterator[tuple[str, BaseStore, BaseStore]]:
        """Each store as the one that writes, with its name and the other one."""
        yield "python", self.python, self.go
        yield "go", self.go, self.python

    def sql(self, query: str, *parameters: Any) -> list[tuple]:
        return self.owner.execute(query, parameters).fetchall()

    def change(self, statement: str, *parameters: Any) -> None:
        # Without parameters it may be several statements.
        self.owner.execute(statement, parameters or None)

    def vectors(self, prefix: str) -> dict[tuple[str, str], str]:
        """The vectors under a namespace, by key and field."""
        rows = self.sql("select key, field_name, embedding::text from langgraph.store_vectors where prefix = %s", prefix)
        return {(key, field): vector for key, field, vector in rows}

    def agree(self, method: str, *arguments: Any, **options: Any) -> Any:
        """What both stores answer, which has to be the same, with the times, the scores and the order."""
        got, want = (getattr(store, method)(*arguments, **options) for store in (self.go, self.python))
        assert_same(f"{method}{arguments}{options}: Go's answer", plain(got), plain(want))
        return got

    def nothing_changed(self) -> None:
        database.command(self.program, "migrate", self.url, "verify")
        made = database.owned_by(self.url, self.role)
        assert made == 0, f"the role has made {made} tables"


def plain(answer: Any) -> Any:
    if isinstance(answer, list):
        if answer and getattr(answer[0], "score", None) is not None:
            # Best first, as it is; LangGraph says nothing about the order of what is equally good.
            assert_same("the scores", [a.score for a in answer], sorted((a.score for a in answer), reverse=True))
            answer = sorted(answer, key=lambda a: (-a.score, a.namespace, a.key))
        return [plain(element) for element in answer]
    if hasattr(answer, "value"):
        times = [time.astimezone(UTC).isoformat() for time in (answer.created_at, answer.updated_at)]
        score = getattr(answer, "score", None)
        # Python negates a distance of 0, Go subtracts it.
        return [answer.namespace, answer.key, answer.value, *times, score if score is None else score + 0.0]
    return answer


def keys(found: list[Any]) -> list[str]:
    return [item.key for item in found]


VALUES: dict[str, dict[str, Any]] = {
    "swim": {"text": "I swim in the lake every morning", "meta": {"title": "Sports"}, "tags": ["water", "early"], "n": 2,
             "kind": "sport"},
    "climb": {"text": "Climbing walls in the evening", "meta": {"title": "Indoors"}, "tags": ["rope"], "n": 3, "kind": "sport"},
    "pasta": {"text": "Italian food, above all pasta with basil", "meta": {"title": "Dinner"}, "n": 5, "kind": "food"},
    "線 🧶": {"text": "編み物が好きです 🧶 é", "meta": {"title": "Ünïcødé \" \\ \n \t"}, "tags": [], "n": 7, "kind": "ő"},
    "nested": {"text": {"b": [1.0, None, True], "a": {"é": 2}}, "meta": {"title": 1.5}, "tags": [True, 3, None, "x", [1]],
               "one": 1.0, "big": 2**70, "small": 1e-7, "": "no name", "a.b": {"c": [[], {}, [None]]}},
    "empty": {},
}
QUERIES = ["swimming in the morning", "what do I eat, pasta?", "evening walls", "編み物"]
FILTERS: list[dict[str, Any]] = [
    {"kind": "sport"}, {"kind": {"$eq": "food"}}, {"n": 7}, {"n": {"$gt": 2}}, {"n": {"$gte": 2, "$lt": 5}}, {"kind": "ő", "n": 7},
    {"meta": {"$eq": {"title": "Dinner"}}}, {"one": 1.0}, {"one": 1}, {"kind": "nothing"},
]


def fill(store: BaseStore, *namespace: str) -> None:
    for number, (key, value) in enumerate(VALUES.items()):
        # One label deeper for every second, so that there are several namespaces.
        store.put((*namespace, f"n{number % 2}"), key, value)


def check_reads(both: Both, *namespace: str) -> None:
    """Both read, find and list the same of what fill has put."""
    for number, (key, value) in enumerate(VALUES.items()):
        found = both.agree("get", (*namespace, f"n{number % 2}"), key)
        assert_same(f"the value of {key}", found.value, value)
    both.agree("get", namespace, "missing")
    assert_same("all", sorted(keys(both.agree("search", namespace))), sorted(VALUES))
    assert_same("the newest two", keys(both.agree("search", namespace, limit=2)), list(VALUES)[:-3:-1])
    both.agree("search", namespace, limit=2, offset=3)
    for filter in FILTERS:
        found = both.agree("search", namespace, filter=filter)
        assert bool(found) == (filter != {"kind": "nothing"}), f"{filter} finds {keys(found)}"
    best = [keys(both.agree("search", namespace, query=query))[0] for query in QUERIES]
    assert_same("the best answers", best, ["swim", "pasta", "climb", "線 🧶"])
    for query in QUERIES[:3]:
        scores = [item.score for item in both.go.search(namespace, query=query)]
        assert len(scores) == len(set(scores)) == len(VALUES) - 1, f"pages of equal scores are no test: {scores}"
        found = both.agree("search", namespace, query=query, filter={"kind": "sport"}, limit=1)
        assert found[0].value["kind"] == "sport" and found[0].score is not None
        both.agree("search", namespace, query=query, limit=2, offset=1)
    # What has no text is not found by one.
    assert "empty" not in keys(both.agree("search", namespace, query=QUERIES[0], limit=100))
    for options in ({"prefix": namespace}, {"prefix": namespace, "max_depth": 1}, {"suffix": ("n1",)}, {"prefix": ("*", "n0")},
                    {"prefix": namespace, "limit": 1, "offset": 1}):
        assert both.agree("list_namespaces", **options), f"{options} lists nothing"


@group.test
async def setup_by_a_role_without_ddl_changes_nothing(both: Both) -> None:
    before = both.sql("select * from langgraph.store_info()")
    both.python.setup()
    async with AsyncPostgresStore.from_conn_string(both.conninfo, index=both.index) as store:
        await store.setup()
    both.nothing_changed()
    assert_same("the vector index", both.sql("select * from langgraph.store_info()"), before)
    [(dims, kind, distance, method)] = both.sql("select dims, vector_type, distance, method from langgraph.store_info()")
    assert_same("the vector index", [dims, kind, distance, method],
                [DIMS, both.ann["vector_type"], both.distance, both.ann["kind"]])


@group.test
async def what_python_puts_go_reads_finds_and_lists(both: Both) -> None:
    fill(both.python, "from python")
    check_reads(both, "from python")


@group.test
async def what_go_puts_python_reads_finds_and_lists(both: Both) -> None:
    fill(both.go, "from go")
    check_reads(both, "from go")


@group.test
async def items_put_at_once_and_asynchronously_are_shared(both: Both) -> None:
    puts = [PutOp(("at once", name), key, value) for name in ("a", "b") for key, value in VALUES.items()]
    async with AsyncPostgresStore.from_conn_string(both.conninfo, index=both.index) as store:
        await store.abatch(puts[: len(VALUES)])
        await both.go.abatch(puts[len(VALUES) :])
        for name in ("a", "b"):
            for query in QUERIES:
                ops = [SearchOp(("at once", name), query=query), GetOp(("at once", name), "swim"),
                       ListNamespacesOp((), None), PutOp(("at once", name), "pasta", VALUES["pasta"])]
                got, want = await both.go.abatch(ops), await store.abatch(ops)
                # Between them the item was put again, which only its time shows.
                ignore_updates(got[0] + want[0])
                assert_same("the answers", plain(got), plain(want))


def ignore_updates(found: list[Any]) -> None:
    for item in found:
        item.updated_at = item.created_at


@group.test
async def both_write_the_same_rows_and_vectors(both: Both) -> None:
    """Whatever is embedded, under every form of path and time to live, the tables have the same afterwards."""
    indexes: list[Any] = [None, False, ["text", "tags[*]"], ["tags[0]", "tags[-1]", "meta.*"], ["{kind,text}", "missing"]]
    ttls = [None, 60, 1.5, 0.1, 0.05]
    for name, store, _ in both.writers():
        for number, index in enumerate(indexes):
            for key, value in VALUES.items():
                store.put(("rows", name), f"{key} {number}", value, index=index, ttl=ttls[number % len(ttls)])
    rows = {
        name: both.sql("select key, value, ttl_minutes, expires_at - updated_at, created_at = updated_at from langgraph.store "
                       "where prefix = %s order by key", f"rows.{name}")
        for name in ("python", "go")
    }
    assert_same("the rows", [list(row) for row in rows["go"]], [list(row) for row in rows["python"]])
    assert_same("how many", len(rows["go"]), len(indexes) * len(VALUES))
    vectors = both.vectors("rows.go")
    assert_same("the vectors", vectors, both.vectors("rows.python"))
    assert ("swim 0", "tags[*].1") in vectors and ("swim 1", "text") not in vectors and ("swim 4", "{kind,text}.0") in vectors
    [(exact,)] = both.sql("select expires_at - updated_at from langgraph.store where prefix = 'rows.go' and key = 'swim 2'")
    assert_same("a minute and a half", exact, timedelta(seconds=90))


@group.test
async def whole_values_are_embedded_as_the_same_text(both: Both) -> None:
    go = both.go_store(fields=["$"])
    with PostgresStore.from_conn_string(both.conninfo, index={**both.index, "fields": ["$"]}) as python:
        fill(python, "whole", "python")
        fill(go, "whole", "go")
        for label in ("n0", "n1"):
            assert_same("the vectors", both.vectors(f"whole.go.{label}"), both.vectors(f"whole.python.{label}"))
        assert_same("vectors of", sorted(both.vectors("whole.go.n1")), sorted((key, "$") for key in list(VALUES)[1::2]))
        for query in QUERIES:
            got, want = (store.search(("whole",), query=query, limit=20) for store in (go, python))
            assert_same(query, plain(got), plain(want))
        # As the index of a put "$" is the name of a field in Python.
        python.put(("whole",), "k", {"text": "t"}, index=["$"])
        assert_same("vectors of Python's", both.vectors("whole"), {})
        go.put(("whole",), "k", {"text": "t"}, index=["$"])
        assert_same("vectors of Go's", list(both.vectors("whole")), [("k", "$")])


@group.test
async def deleting_takes_the_vectors_along(both: Both) -> None:
    for name, writer, other in both.writers():
        namespace = ("deleted", name)
        writer.put(namespace, "k", VALUES["swim"])
        writer.put(namespace, "stays", VALUES["pasta"])
        other.delete(namespace, "k")
        assert both.agree("get", namespace, "k") is None
        assert_same("what is left", keys(both.agree("search", namespace, query=QUERIES[0])), ["stays"])
        assert_same("vectors of", {key for key, _ in both.vectors(".".join(namespace))}, {"stays"})


@group.test
async def reads_of_one_refresh_what_the_other_put(both: Both) -> None:
    for name, writer, reader in both.writers():
        namespace = ("refreshed", name)
        writer.put(namespace, "k", VALUES["swim"], ttl=1.5)
        writer.put(namespace, "lasts", VALUES["pasta"])
        for read in (
            lambda: reader.get(namespace, "k", refresh_ttl=True),
            lambda: reader.search(namespace, refresh_ttl=True),
            lambda: reader.search(namespace, query=QUERIES[0], filter={"n": 2}, refresh_ttl=True),
        ):
            assert_same("the time it starts anew", refreshed(both, namespace, read), True)
        for read in (
            lambda: reader.get(namespace, "k", refresh_ttl=False),
            lambda: reader.search(namespace, query=QUERIES[0], refresh_ttl=False),
        ):
            assert_same("the time it starts anew", refreshed(both, namespace, read), False)
        [(lasting,)] = both.sql("select expires_at from langgraph.store where prefix = %s and key = 'lasts'", ".".join(namespace))
        assert lasting is None, "an item without a time to live got one"
        reader.put(namespace, "k", VALUES["swim"])
        [(lasting,)] = both.sql("select expires_at from langgraph.store where prefix = %s and key = 'k'", ".".join(namespace))
        assert lasting is None, "an item put without a time to live has kept the old one"


def refreshed(both: Both, namespace: tuple[str, ...], read: Any) -> bool:
    """Whether a read gives the item, which has a second left to a minute and a half, its full time again."""
    prefix = ".".join(namespace)
    both.change("update langgraph.store set expires_at = now() + interval '1 minute' where prefix = %s and key = 'k'", prefix)
    [(before,)] = both.sql("select clock_timestamp()")
    assert read(), "the read found nothing"
    [(moved, after)] = both.sql(
        "select expires_at - ttl_minutes * interval '1 minute', clock_timestamp() from langgraph.store "
        "where prefix = %s and key = 'k'", prefix)
    return before <= moved <= after


@group.test
async def expired_items_are_gone_for_go_and_for_python_where_it_omits_them(both: Both) -> None:
    for name, writer, _ in both.writers():
        namespace = ("expired", name)
        writer.put(namespace, "k", VALUES["swim"], ttl=1)
        both.change("update langgraph.store set expires_at = now() - interval '1 second', created_at = '2000-01-01' "
                    "where prefix = %s", ".".join(namespace))
        assert both.go.get(namespace, "k") is None
        assert_same("what Go finds", both.go.search(namespace) + both.go.search(namespace, query=QUERIES[0]), [])
        assert_same("what Go lists", both.go.list_namespaces(prefix=namespace), [])
        # As LangGraph has it, an item stays until it is swept, unless the store is told to omit it.
        assert both.python.get(namespace, "k", refresh_ttl=False) is not None
        with PostgresStore.from_conn_string(both.conninfo, index=both.index, ttl={"omit_expired": True}) as omitting:
            assert omitting.get(namespace, "k", refresh_ttl=False) is None
            assert_same("what it finds", omitting.search(namespace, query=QUERIES[0], refresh_ttl=False), [])
    assert_same("swept by Python", both.python.sweep_ttl(), 2)
    assert_same("vectors left", {**both.vectors("expired.go"), **both.vectors("expired.python")}, {})


@group.test
async def one_key_written_alternately_has_the_vector_of_what_was_put_last(both: Both) -> None:
    namespace, prefix = ("alternately",), "alternately"

    def hashes() -> list[bool]:
        return [known for (known,) in both.sql(
            "select text_hash is not null from langgraph.store_vectors where prefix = %s order by field_name", prefix)]

    def put(store: BaseStore, text: str) -> None:
        store.put(namespace, "k", {"text": text}, index=["text"])
        [wanted] = embedder(both.bridge, DIMS)([text])
        [(nearest,)] = both.sql(
            f"select embedding = %s::real[]::{both.ann['vector_type']} from langgraph.store_vectors where prefix = %s",
            wanted, prefix)
        assert nearest, f"the vector is not that of {text!r}"
        [found] = both.agree("search", namespace, query=text)
        assert_same("what a search finds", found.value, {"text": text})

    both.go.put(namespace, "k", {"text": "first"}, index=["text"])
    assert_same("what Go embeds, with a hash", [both.go.embedded, hashes()], [["first"], [True]])
    for text in ("second", "third", "second"):
        both.go.put(namespace, "k", {"text": text}, index=["text"])
        assert_same("a new text is embedded", both.go.embedded, [text])
        both.go.put(namespace, "k", {"text": text, "n": 1}, index=["text"])
        assert_same("a text that Go has embedded is not embedded again", both.go.embedded, [])
        put(both.python, "from Python after " + text)
        assert_same("the hash after Python's put", hashes(), [False])
        both.go.put(namespace, "k", {"text": "from Python after " + text}, index=["text"])
        assert_same("Go embeds what it does not know to be embedded", both.go.embedded, ["from Python after " + text])
        assert_same("the hash after Go's put", hashes(), [True])
        # The same text: Python replaces the vector all the same, and says nothing about what it is of.
        put(both.python, "from Python after " + text)
        assert_same("the hash after Python's put of the same text", hashes(), [False])
        put(both.go, text)


@group.test
async def only_go_removes_vectors_of_texts_that_are_gone(both: Both) -> None:
    namespace, prefix = ("gone",), "gone"
    both.go.put(namespace, "k", VALUES["swim"])
    both.python.put(namespace, "k", {"text": "Something else"})
    fields = {field for _, field in both.vectors(prefix)}
    assert_same("what Python leaves", fields, {"text", "meta.title", "tags[*].0", "tags[*].1"})
    both.go.put(namespace, "k", {"text": "Something else"})
    assert_same("what Go leaves", {field for _, field in both.vectors(prefix)}, {"text"})
    both.python.put(namespace, "k", {"text": "Not indexed"}, index=False)
    assert_same("what Python leaves", {field for _, field in both.vectors(prefix)}, {"text"})
    both.go.put(namespace, "k", {"text": "Not indexed"}, index=False)
    assert_same("what Go leaves", both.vectors(prefix), {})
    for store in (both.go, both.python):
        store.put(namespace, "k", {"text": " \n"})
        assert_same("vectors of a text of space", len(both.vectors(prefix)), 0 if store is both.go else 1)


@group.test
async def filters_differ_where_python_compares_text_or_has_less(both: Both) -> None:
    namespace = ("compared",)
    for n in (2, 9, 10):
        both.python.put(namespace, str(n), {"n": n})
    both.python.put(namespace, "none", {})
    # filter, what Go finds, what LangGraph's SQL finds
    for filter, typed, as_text in (
        ({"n": {"$gt": 9}}, ["10"], []), ({"n": {"$lt": 9}}, ["2"], ["10", "2"]),
        ({"n": {"$ne": 9}}, ["10", "2", "none"], ["10", "2"]),
    ):
        assert_same(f"Go's {filter}", sorted(keys(both.go.search(namespace, filter=filter))), typed)
        assert_same(f"Python's {filter}", sorted(keys(both.python.search(namespace, filter=filter))), as_text)
    for filter, found in (({"n": {"$in": [2, 10]}}, ["10", "2"]), ({"n": {"$nin": [2, 10]}}, ["9", "none"]),
                          ({"n": {"$exists": False}}, ["none"])):
        assert_same(f"Go's {filter}", sorted(keys(both.go.search(namespace, filter=filter))), found)
        try:
            both.python.search(namespace, filter=filter)
        except ValueError as error:
            assert "Unsupported operator" in str(error), str(error)
        else:
            raise AssertionError(f"Python has {filter}")
    both.go.put(("compared", "paths"), "k", {"a": {"b": 1}})
    assert_same("Go's path", keys(both.go.search(namespace, filter={"a.b": 1})), ["k"])
    assert_same("Python's path", keys(both.python.search(namespace, filter={"a.b": 1})), [])


@group.test
async def an_index_that_does_not_match_is_refused_by_go(both: Both) -> None:
    other = "halfvec" if both.ann["vector_type"] == "vector" else "vector"
    for different, named in (({"dims": DIMS + 1}, "dimensions"), ({"vector_type": other}, "vector type"),
                             ({"distance": "l2" if both.distance != "l2" else "cosine"}, "distance")):
        try:
            both.go_store(**different).put(("refused",), "k", {"text": "t"})
        except BridgeError as error:
            assert "vector index does not match" in str(error) and named in str(error), str(error)
        else:
            raise AssertionError(f"Go takes an index with {different}")
    assert both.agree("get", ("refused",), "k") is None


@contextlib.contextmanager
def opened(bridge: Bridge, program: str, distance: str, ann: dict[str, Any]) -> Iterator[Both]:
    """A database with the index that LangGraph's configuration describes, and both stores on it."""
    with database.empty_database(bridge) as url:
        database.command(program, "migrate", url, "up")
        with database.runtime_role(bridge, url) as role, contextlib.ExitStack() as stack:
            both = Both(bridge, program, url, role, distance, ann)
            both.owner = stack.enter_context(psycopg.connect(url, autocommit=True))
            options = {"lists" if name == "nlist" else name: n for name, n in ann.items() if name not in ("kind", "vector_type")}
            both.change("create extension if not exists vector schema public")
            both.sql("select langgraph.enable_vector_index(%s, %s, %s, %s, %s)", DIMS, ann["vector_type"], distance, ann["kind"],
                     json.dumps(options))
            both.change(database.documented("create schema langgraph_setup", role))
            both.python = stack.enter_context(PostgresStore.from_conn_string(both.conninfo, index=both.index))
            yield both


async def run(bridge: Bridge, program: str) -> list[Count]:
    with contextlib.ExitStack() as stack:
        variants = {
            f" ({ann['vector_type']}, {distance}, {ann['kind']})": (stack.enter_context(opened(bridge, program, distance, ann)),)
            for distance, ann in INDEXES
        }
        return [await group.run("PostgresStore and Go's store share items and vectors", variants=variants)]
