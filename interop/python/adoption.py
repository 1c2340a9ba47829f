"""Databases that LangGraph's own setup() made and real graphs filled, adopted by `migrate adopt`, with every row kept.

The oldest release runs in a virtual environment of its own, see oldest.py, and reads its threads again afterwards.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import psycopg
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.base import SearchOp
from langgraph.store.postgres import PostgresStore

import database
import graphs
import oldest
from bridge import Bridge
from compare import assert_same
from groups import Count, Group
from own import Threaded, synchronous
from peers import Peer, assert_lists_the_same, assert_reads_the_same

group = Group()

TABLES = {
    "checkpoints": "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
    "checkpoint_blobs": "thread_id, checkpoint_ns, channel, version, type, blob",
    "checkpoint_writes": "thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob",
    "store": "prefix, key, value, created_at, updated_at",
}


class Adopted:
    """A database of LangGraph's, and the commands that adopt it."""

    def __init__(self, bridge: Bridge, program: str, url: str) -> None:
        self.bridge, self.program, self.url = bridge, program, url

    def migrate(self, *arguments: str) -> str:
        return database.command(self.program, "migrate", self.url, *arguments)

    def sound(self, schema: str) -> None:
        """The schema is what was shipped, and nothing in it is broken."""
        self.migrate("verify", "--schema", schema)
        database.command(self.program, "pgweft", self.url, "fsck", "--deep", "--schema", schema)

    def rows(self, schema: str) -> dict[str, Any]:
        """How many rows there are of each table, and a hash of all that LangGraph put in them."""
        with psycopg.connect(self.url) as connection:
            return {
                table: connection.execute(
                    f"select count(*), md5(string_agg(t::text, ',' order by t::text collate \"C\")) "
                    f"from (select {columns} from {schema}.{table}) t"
                ).fetchone()
                for table, columns in TABLES.items()
            }

    def adopt(self, schema: str, *found: str) -> None:
        """Adopt from public, after a dry run that changes nothing, and check that every row is there."""
        before = self.rows("public")
        plan = self.migrate("adopt", "--from", "public", "--schema", schema, "--dry-run")
        assert_same("the rows after a dry run", self.rows("public"), before)
        for dialect in found:
            assert dialect in plan, f"the plan does not say {dialect!r}:\n{plan}"
        assert "Lock: ACCESS EXCLUSIVE" in plan, plan
        done = self.migrate("adopt", "--from", "public", "--schema", schema)
        assert done.startswith(plan), f"what was done is not what was planned:\n{done}"
        assert_same("the rows after the adoption", self.rows(schema), before)
        self.sound(schema)

    def conninfo(self, schema: str) -> str:
        # pgvector is in public, and LangGraph's store does not qualify its names.
        return database.conninfo(self.url, search_path=f"{schema},public")


def run_oldest(action: str, conninfo: str) -> Any:
    here = pathlib.Path(__file__).parent
    ended = subprocess.run(
        [here / ".venv-oldest/bin/python", "-B", "-W", "ignore", here / "oldest.py", action, conninfo],
        capture_output=True, text=True, check=False,
    )
    assert ended.returncode == 0, f"the oldest release failed:\n{ended.stderr}"
    return json.loads(ended.stdout) if ended.stdout else None


@group.test
async def oldest_release_is_adopted_and_goes_on(bridge: Bridge, program: str, schema: str) -> None:
    with database.empty_database(bridge) as url:
        adopted = Adopted(bridge, program, url)
        filled = run_oldest("fill", url)
        adopted.adopt(schema, "LangGraph's Python saver, at version 4 of 9", "LangGraph's Python store, at version 1 of 3")
        conninfo = adopted.conninfo(schema)
        assert_same("what the oldest release reads", run_oldest("read", conninfo), filled)
        run_oldest("setup", conninfo)
        adopted.sound(schema)

        peer = Peer(bridge, url, schema)
        saver = synchronous(conninfo)
        with saver.conn, PostgresStore.from_conn_string(conninfo) as store:
            saver.setup()
            store.setup()
            adopted.sound(schema)
            newest = json.loads(json.dumps(oldest.read(saver, store)))
            assert_same("what the newest release reads", newest, filled)
            lists_the_same(saver, peer)
            went_on(saver, peer)
            lists_the_same(saver, peer)
        adopted.sound(schema)


def lists_the_same(saver: PostgresSaver, peer: Peer) -> None:
    # Thread by thread: in a list of all threads PostgresSaver gives the packets of old checkpoints to one thread only.
    for thread in oldest.GRAPHS:
        assert_lists_the_same(peer.list(thread), list(saver.list(oldest.at(thread))))
    graphs.equal({t.config["configurable"]["thread_id"] for t in peer.list()}, set(oldest.GRAPHS))


def went_on(saver: PostgresSaver, peer: Peer) -> None:
    """Threads of the oldest release go on in the newest, and Go reads their states."""
    chat = oldest.chat(saver)
    result = chat.invoke({"messages": [HumanMessage("thanks", id="9")]}, oldest.at("chat"))
    graphs.equal([m.content for m in result["messages"]][-4:], ["thanks", "", "42.50", "answer 11"])
    stopped = oldest.GRAPHS["stopped"](saver)
    graphs.equal(stopped.invoke(None, oldest.at("stopped"))["items"][:4], ["stopped", "first", "second", "edited"])
    fanned = oldest.fanned(saver)
    graphs.equal(fanned.invoke(None, oldest.at("fanned"))["answer"], ["part 0", "part 1", "part 2", "plan"])
    for thread in ("chat", "stopped", "fanned"):
        now = oldest.GRAPHS[thread](saver).get_state(oldest.at(thread))
        got = peer.states(oldest.GRAPHS[thread](saver), thread)[0]
        assert_same(f"Go's state of {thread}", [got["values"], got["next"]], [now.values, list(now.next)])


SCENARIOS = [
    "conversation_of_two_turns", "interrupt_waits_and_resumes", "history_forks_and_both_branches_stay",
    "subgraph_of_a_subgraph_interrupts", "sends_run_in_parallel_and_join_in_order", "values_of_every_type_pass_through_channels",
    "delta_channels_fork_on_their_own_branch", "functional_workflow_remembers_tasks_and_what_it_returned",
]


def embed(texts: list[str]) -> list[list[float]]:
    return [[float(len(t)), float(t.count("a")), 1.0] for t in texts]


INDEX = {"dims": 3, "embed": embed, "fields": ["text"]}


@group.test
async def newest_release_is_adopted_and_goes_on(bridge: Bridge, program: str, schema: str) -> None:
    with database.empty_database(bridge) as url:
        adopted = Adopted(bridge, program, url)
        serde = graphs.Savers(lambda _: None).serde
        saver = synchronous(url, serde, Threaded)
        with saver.conn, PostgresStore.from_conn_string(url, index=INDEX) as store:
            saver.setup()
            store.setup()
            runs = [await run_scenario(name, saver) for name in SCENARIOS]
            waiting = graphs.line(saver, ask=True)
            waiting.invoke({"items": ["before"]}, oldest.at("waiting"))
            for number, text in enumerate(["a", "bb", "aaa"]):
                store.put(("docs", str(number)), "k", {"text": text})
            store.put(("docs", "0"), "short lived", {"text": "soon"}, ttl=90)
            tuples, found = list(saver.list(None)), search(store)

        adopted.adopt(schema, "LangGraph's Python saver, at version 9 of 9", "LangGraph's Python store, at version 3 of 3",
                      "vectors of LangGraph's Python store, at version 2 of 2")
        conninfo = adopted.conninfo(schema)
        peer = Peer(bridge, url, schema, serde=serde)
        saver = synchronous(conninfo, serde, Threaded)
        with saver.conn, PostgresStore.from_conn_string(conninfo, index=INDEX) as store:
            saver.setup()
            store.setup()
            adopted.sound(schema)
            assert_lists_the_same(list(saver.list(None)), tuples)
            assert_lists_the_same(peer.list(), tuples)
            assert_same("what a search by vectors finds", search(store), found)
            graphs.equal(len(found), 4)
            for thread_id, graph in (thread for run in runs for thread in run.threads().values()):
                if graph is not None and "__end__" not in graph.channels:
                    graph.checkpointer = saver
                    assert_reads_the_same(peer, graph, thread_id)
            waiting = graphs.line(saver, ask=True)
            graphs.equal(waiting.invoke(graphs.Command(resume="yes"), oldest.at("waiting"))["items"][-1], "third after yes")
            assert_reads_the_same(peer, waiting, "waiting")
            store.put(("docs", "3"), "k", {"text": "aaaa"})
            graphs.equal(len(search(store)), 5)
        with psycopg.connect(url) as connection:
            minutes = connection.execute(f"select ttl_minutes from {schema}.store where key = 'short lived'").fetchone()[0]
            assert_same("the minutes of an item", minutes, 90.0)
        adopted.sound(schema)


async def run_scenario(name: str, saver: PostgresSaver) -> graphs.Run:
    run = graphs.Run(saver, asynchronous=False)
    await graphs.scenarios[name](run)
    return run


def search(store: PostgresStore) -> list[Any]:
    [found] = store.batch([SearchOp(("docs",), query="aa", limit=10, refresh_ttl=False)])
    return [[list(item.namespace), item.key, item.value, item.score] for item in found]


async def run(bridge: Bridge, program: str) -> list[Count]:
    variants = {" (moved)": ("langgraph",), " (in place)": ("public",)}
    return [await group.run("adoption", bridge, program, variants=variants)]
