"""Runs LangGraph's conformance suite, and tests of our own beside it, against the Go saver and the database it shares.

    conformance.py BRIDGE [GROUP ...]

BRIDGE is the program built from interop/python/bridge; the commands migrate and pgweft are beside it. README.md says what
each group is; without a name all of them run.
Prints `name: N passed, N failed` for each capability and group. The status is 0 only when every test there is ran and
passed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

import adoption
import byte_compat
import delta_history
import go_threads
import graphs
import official
import own
import shared
import store
from bridge import Bridge
from groups import Count
from saver import BridgeSaver


async def run_official(bridge: Bridge, _: str) -> list[Count]:
    counts, whole = await official.run(bridge)
    return [*counts, whole]


async def run_delta(bridge: Bridge, _: str) -> list[Count]:
    return [await delta_history.run("delta_channel_history", BridgeSaver(bridge))]


async def run_graphs(bridge: Bridge, _: str) -> list[Count]:
    return [await graphs.run("graph", lambda serde: BridgeSaver(bridge, serde=serde))]


async def run_shared(bridge: Bridge, _: str) -> list[Count]:
    with shared.connect(bridge) as connection:
        saver = shared.SharedSaver(bridge, connection)
        return [
            await delta_history.run("delta_channel_history shared with PostgresSaver", saver, shared=True),
            await graphs.run(
                "graph shared with PostgresSaver",
                lambda serde: shared.SharedSaver(bridge, connection, serde),
                shared=True,
            ),
        ]


async def run_bytes(bridge: Bridge, _: str) -> list[Count]:
    return [await byte_compat.run(bridge)]


GROUPS: dict[str, Callable[[Bridge, str], Awaitable[list[Count]]]] = {
    "official": run_official,
    "delta": run_delta,
    "graph": run_graphs,
    "shared": run_shared,
    "own": own.run,
    "go": go_threads.run,
    "store": store.run,
    "adoption": adoption.run,
    "bytes": run_bytes,
}


async def run(bridge: Bridge, program: str, names: list[str]) -> bool:
    good = True
    for name in names:
        for count in await GROUPS[name](bridge, program):
            count.report()
            good = good and count.good()
    return good


def main(arguments: list[str]) -> int:
    if not arguments or set(arguments[1:]) - GROUPS.keys():
        print(f"usage: conformance.py BRIDGE [{' | '.join(GROUPS)}] ...", file=sys.stderr)
        return 2
    with Bridge([arguments[0]]) as bridge:
        server = bridge.greeting
        print(f"PostgreSQL {server['server_version'] // 10000} (backend: {server['backend']})", flush=True)
        good = asyncio.run(run(bridge, arguments[0], arguments[1:] or list(GROUPS)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
