"""Every value that LangGraph's serializer can write, through Go and back, as hypothesis makes them up.

Go decodes what Python wrote and has to encode the same bytes; Go makes a value by itself, and Python has to load an equal one.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import pathlib
import re
import struct
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any

import numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import Item
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel

from bridge import Bridge
from compare import assert_same, canonical
from described import describe
from groups import Count, Group

group = Group()


class Colour(enum.Enum):
    RED = "red"
    SEVEN = 7
    MANY = (1, 2)


class Level(enum.IntEnum):
    ONE = 1


class Point(collections.namedtuple("Point", ["x", "y"])):
    pass


@dataclasses.dataclass
class Loom:
    name: str
    threads: Any = None


class Order(BaseModel):
    number: int
    lines: list[Any] = []
    placed: datetime.datetime | None = None
    price: decimal.Decimal | None = None


SERDE = JsonPlusSerializer(allowed_msgpack_modules=[Colour, Level, Point, Loom, Order])



def objects(make: Callable[..., Any], **fields: st.SearchStrategy) -> st.SearchStrategy:
    """Objects with exactly these fields; st.builds would also make up those that have no default."""
    return st.fixed_dictionaries(fields).map(lambda given: make(**given))


# MessagePack has integers of 64 bits; Python refuses others, as Go does. Surrogates are no text.
integers = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.sampled_from([n + d for n in (0, 127, 128, 255, 256, 65535, 65536, 2**31, 2**32, 2**53, 2**63) for d in (-1, 0, 1)]),
    st.sampled_from([-32, -33, -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**63)]),
)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(["", "\x00", "\\u0000", "線と糸 🧶", "a" * 300])
# Go's NaN has bits that are not those of Python's, and is written as Python's: the one value whose bytes change, if Python
# ever made a NaN of these bits.
GO_NAN = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))[0]
floats = st.floats().filter(lambda f: struct.pack(">d", f) != struct.pack(">d", GO_NAN)) | st.sampled_from([0.0, -0.0, 1.0, 1e22, 5e-324])
primitives = st.one_of(st.none(), st.booleans(), integers, floats, text)
offsets = st.timezones() | st.timedeltas(datetime.timedelta(hours=-23), datetime.timedelta(hours=23)).map(datetime.timezone)
fixed_offsets = st.integers(-23 * 60, 23 * 60).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
decimals = st.decimals() | st.sampled_from([decimal.Decimal(t) for t in ("NaN", "-Infinity", "1E+3", "-0", "0.10", "sNaN")])
hashable = st.one_of(st.none(), st.booleans(), integers, floats, text, st.binary(max_size=8), st.uuids())
dtypes = st.sampled_from(["<f8", "<i4", "|u1", "<c16", "<U3", "|b1", ">i2", "<f2"])


@st.composite
def arrays(draw: st.DrawFn) -> numpy.ndarray:
    shape = draw(st.lists(st.integers(0, 3), min_size=0, max_size=3))
    dtype = numpy.dtype(draw(dtypes))
    size = int(numpy.prod(shape, dtype=int))
    array = numpy.frombuffer(bytes(draw(st.binary(min_size=0, max_size=0))) + bytes(size * dtype.itemsize), dtype).reshape(shape)
    array = array.copy()
    if dtype.kind in "iufb" and size:
        array.flat[0] = 1
    if draw(st.booleans()):
        array = numpy.asfortranarray(array)
    return array[::2] if shape and draw(st.booleans()) else array


json_like = st.recursive(
    primitives, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=6
)
# Go has "" for an id that is None.
ids = text.filter(bool)
calls = st.lists(
    objects(dict, name=text, args=st.dictionaries(text, json_like, max_size=2), id=ids, type=st.just("tool_call")), max_size=2
)
counts = st.integers(0, 10**6)
usage = st.none() | objects(lambda i, o: {"input_tokens": i, "output_tokens": o, "total_tokens": i + o}, i=counts, o=counts)
parts = text | st.lists(objects(dict, type=st.just("text"), text=text) | text, max_size=2)
messages = st.one_of(
    objects(HumanMessage, content=parts, id=st.none() | text, name=st.none() | text),
    objects(AIMessage, content=parts, id=text, tool_calls=calls, usage_metadata=usage,
              response_metadata=st.dictionaries(text, json_like, max_size=2)),
    objects(SystemMessage, content=parts),
    objects(ToolMessage, content=parts, tool_call_id=text, id=text, artifact=json_like, status=st.sampled_from(["success", "error"])),
    objects(RemoveMessage, id=ids),
)
leaves = st.one_of(
    primitives, st.binary(max_size=40), st.binary(max_size=8).map(bytearray), st.datetimes(), st.datetimes(timezones=offsets),
    st.dates(), st.times(), st.times(timezones=fixed_offsets), st.timedeltas(), st.uuids(), decimals,
    st.frozensets(hashable, max_size=3), st.sets(hashable, max_size=3), fixed_offsets,
    st.timezones().filter(lambda zone: isinstance(zone, zoneinfo.ZoneInfo)),
    st.ip_addresses(), st.ip_addresses(v=4).map(lambda a: ipaddress.ip_interface(f"{a}/24")),
    st.ip_addresses(v=6).map(lambda a: ipaddress.ip_network(f"{a}/128")),
    st.sampled_from([*Colour, *Level, pathlib.Path("/a/b"), pathlib.Path("c"), re.compile("a.b", re.IGNORECASE), re.compile("")]),
    arrays(), messages, text.map(ValueError),
)


def containers(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.one_of(
        st.lists(inner, max_size=4), st.lists(inner, max_size=3).map(tuple), st.lists(inner, max_size=3).map(collections.deque),
        st.dictionaries(text, inner, max_size=4), st.dictionaries(integers | text | st.booleans() | st.none(), inner, max_size=3),
        objects(Point, x=inner, y=inner), objects(Loom, name=text, threads=inner), objects(Send, node=text, arg=inner), objects(Overwrite, value=inner),
        objects(Interrupt, value=inner, id=text), objects(Command, update=inner, goto=st.lists(text, max_size=2), resume=inner),
        objects(Item, value=st.dictionaries(text, json_like, max_size=2), key=text, namespace=st.just(("a", "b")),
                  created_at=st.datetimes(timezones=fixed_offsets), updated_at=st.datetimes(timezones=fixed_offsets)),
        objects(Document, page_content=text, metadata=st.dictionaries(text, json_like, max_size=2)),
        objects(Order, number=st.integers(-(2**63), 2**63 - 1), lines=st.lists(json_like, max_size=2),
                  placed=st.none() | st.datetimes(), price=st.none() | st.decimals(allow_nan=False, allow_infinity=False)),
    )


# Of every depth alike, which st.recursive does not promise.
shallow = containers(leaves)
values = leaves | shallow | containers(leaves | shallow)
stored = values | values.map(_DeltaSnapshot)

# What Go programs make: the types that serde has, see its documentation. Durations as far as both have them;
# fold, which LangGraph's serializer drops.
moments = (st.datetimes() | st.datetimes(timezones=fixed_offsets)).map(lambda moment: moment.replace(fold=0))
made_leaves = st.one_of(
    primitives, st.binary(max_size=40), moments, st.dates(), st.uuids(), decimals,
    st.timedeltas(datetime.timedelta(days=-100_000), datetime.timedelta(days=100_000)),
    objects(HumanMessage, content=text, id=ids), objects(SystemMessage, content=text, id=ids), objects(RemoveMessage, id=ids),
    objects(ToolMessage, content=text, tool_call_id=text, id=ids),
    objects(AIMessage, content=text, id=ids, tool_calls=calls, usage_metadata=usage),
)
made = st.recursive(
    made_leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(text, inner, max_size=4),
        st.dictionaries(st.integers(-(2**63), 2**63 - 1) | text, inner, max_size=3), objects(Send, node=text, arg=inner),
        objects(Overwrite, value=inner), st.lists(inner, max_size=3).map(collections.deque),
        st.sets(st.integers(-(2**63), 2**63 - 1) | text | st.uuids(), max_size=3), st.frozensets(text, max_size=3),
    ),
    max_leaves=12,
)

# One example has many values: the bridge takes them in one call.
BATCH = 20
# The same examples in every run, so that a failure is the fault of what changed.
searching = settings(
    max_examples=300, deadline=None, database=None, print_blob=False, derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def bytes_of(answers: list[dict[str, Any]], batch: list[Any]) -> list[tuple[str, bytes]]:
    for answer, value in zip(answers, batch, strict=True):
        if "error" in answer:
            raise AssertionError(f"Go says {answer['error']!r} of {value!r}")
    return [(a["typed"]["type"], base64.b64decode(a["typed"]["data"])) for a in answers]


def typed(pair: tuple[str, bytes]) -> dict[str, str]:
    return {"type": pair[0], "data": base64.b64encode(pair[1]).decode()}


@group.test
async def go_encodes_the_bytes_it_decoded(bridge: Bridge) -> None:
    @searching
    @given(st.lists(stored, min_size=1, max_size=BATCH))
    def check(batch: list[Any]) -> None:
        written = [SERDE.dumps_typed(value) for value in batch]
        answers = bridge.call("recode", {"values": [typed(pair) for pair in written]}).result()
        for value, pair, got in zip(batch, written, bytes_of(answers, batch), strict=True):
            assert got == pair, f"Python wrote {pair!r} of {value!r}, and Go {got!r}"
        counted.update(type(value).__name__ for value in batch)

    counted: collections.Counter[str] = collections.Counter()
    check()
    assert counted.total() > 1000 and len(counted) > 30, f"too few values were written: {counted}"


@group.test
async def go_encodes_the_bytes_it_decoded_of_primitives(bridge: Bridge) -> None:
    @searching
    @given(st.lists(primitives | st.binary(max_size=300) | st.binary().map(bytearray), min_size=1, max_size=BATCH))
    def check(batch: list[Any]) -> None:
        written = [SERDE.dumps_typed(value) for value in batch]
        answers = bridge.call("recode", {"values": [typed(pair) for pair in written]}).result()
        assert bytes_of(answers, batch) == written

    check()


@group.test
async def python_loads_what_go_made(bridge: Bridge) -> None:
    @searching
    @given(st.lists(made | made.map(_DeltaSnapshot), min_size=1, max_size=BATCH))
    def check(batch: list[Any]) -> None:
        answers = bridge.call("build", {"values": [describe(value) for value in batch]}).result()
        for value, pair in zip(batch, bytes_of(answers, batch), strict=True):
            assert_same(f"what Go made of {value!r}", SERDE.loads_typed(pair), value)

    check()


@group.test
async def go_writes_the_bytes_python_writes(bridge: Bridge) -> None:
    """For what both make: the same value is the same bytes. Sets have no order of their own."""

    @searching
    @given(st.lists(made.filter(lambda value: "set" not in repr(canonical(value))), min_size=1, max_size=BATCH))
    def check(batch: list[Any]) -> None:
        answers = bridge.call("build", {"values": [describe(value) for value in batch]}).result()
        for value, got in zip(batch, bytes_of(answers, batch), strict=True):
            want = SERDE.dumps_typed(value)
            assert got == want, f"Python writes {want!r} of {value!r}, and Go {got!r}"

    check()


async def run(bridge: Bridge) -> Count:
    return await group.run("byte compatibility", bridge, variants={"": ()})
