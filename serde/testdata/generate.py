"""Make the golden vectors of package serde with LangGraph's own serializer.

    python3 -m venv /path/to/venv
    /path/to/venv/bin/pip install -r requirements.txt
    /path/to/venv/bin/python generate.py            write the files beside this script
    /path/to/venv/bin/python generate.py --check    fail if they would change, and check that
                                                    Python reads what Go wrote (from_go.json)

vectors.json    values: what JsonPlusSerializer writes, and what they are
json.json       the older JSON form: what it is, and what Python writes after reading it
encrypted.json  values written by EncryptedSerializer.from_pycryptodome_aes
from_go.json    written by `go test ./serde -run TestPythonReads -update`, only read here

A vector's value is JSON. null, booleans and strings are themselves, everything
else is an object with one key that says what it is, see `describe`. It is made
from the Python value and never from the bytes. Long values that repeat are
described by what repeats, and long data is given by its size and SHA-256.
"""

import argparse
import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import hashlib
import ipaddress
import json
import os
import pathlib
import re
import struct
import sys
import uuid
import zoneinfo

if os.environ.get("PYTHONHASHSEED") != "0":
    # Sets of strings iterate in the order of their hashes.
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})

import numpy
import ormsgpack
import pydantic
import pydantic.v1
from Crypto.Cipher import _mode_eax
from langchain_core.documents import Document
from langchain_core.load import dumps as lc_dumps
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import Item
from langgraph.types import Command, Interrupt, Overwrite, Send, TimeoutPolicy

HERE = pathlib.Path(__file__).parent
SERDE = JsonPlusSerializer()
UTC = datetime.timezone.utc


def placed(cls):
    """Give a class a module that does not depend on how this script is run."""
    cls.__module__ = "weaver.models"
    return cls


@placed
class Color(enum.Enum):
    RED = "red"
    SEVEN = 7


@placed
class Name(str, enum.Enum):
    WARP = "warp"


@placed
class Level(enum.IntEnum):
    ONE = 1


@placed
class Point(collections.namedtuple("Point", ["x", "y"])):
    pass


@placed
@dataclasses.dataclass
class Loom:
    name: str
    threads: list = dataclasses.field(default_factory=list)
    inner: object = None


@placed
class Model(pydantic.BaseModel):
    name: str
    when: datetime.datetime | None = None
    tags: set[int] = set()
    nested: "Model | None" = None


@placed
class Root(pydantic.RootModel[list[int]]):
    pass


@placed
class OldModel(pydantic.v1.BaseModel):
    name: str
    size: int = 3


class Text(str):
    pass


class Number(int):
    pass


class Items(list):
    pass


class Once:
    """A value that is written as raw MessagePack, for what Python cannot hold."""

    def __init__(self, data, value):
        self.data, self.value = data, value


# ---------------------------------------------------------------- describing


def obj(kind, module, name, *, args=None, kwargs=None, method=""):
    described = {"kind": kind, "module": module, "name": name, "method": method}
    if kwargs is not None:
        described["kwargs"] = describe(kwargs)
    else:
        described["args"] = [describe(a) for a in args]
    return {"object": described}


LONG = 4096


def repeated(value):
    """Describe a long string or list by what repeats in it, or return None."""
    if len(value) < LONG:
        return None
    for size in (1, 7):
        part = value[:size]
        count = len(value) // size
        if part * count == value:
            return {"repeat": describe(part), "count": count}
    raise ValueError("long values must repeat")


def of(value, kind, **arguments):
    return obj(kind, type(value).__module__, type(value).__name__, **arguments)


def describe_key(key):
    if isinstance(key, enum.Enum):
        return describe_key(key.value)
    if isinstance(key, (datetime.datetime, datetime.date)):
        return key.isoformat()
    if isinstance(key, uuid.UUID):
        return str(key)
    return describe(key)


@functools.singledispatch
def describe(value):
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return of(value, 2, kwargs=fields)
    raise TypeError(f"no description of {value!r}")


@describe.register
def _(v: None):
    return v


@describe.register
def _(v: bool):
    return v


@describe.register
def _(v: str):
    if isinstance(v, enum.Enum):
        return of(v, 0, args=[v.value])
    if long := repeated(v):
        return long
    return "".join("?" if "\ud800" <= c <= "\udfff" else c for c in v)


@describe.register
def _(v: int):
    if isinstance(v, enum.Enum):
        return of(v, 0, args=[v.value])
    return {"int": str(int(v))}


@describe.register
def _(v: float):
    return {"float": struct.pack(">d", v).hex()}


@describe.register(bytes)
@describe.register(memoryview)
def _(v):
    data = bytes(v)
    if len(data) >= LONG:
        assert data == counting_bytes(len(data))
        return {"counting bytes": len(data)}
    return {"bytes": data.hex()}


def counting_bytes(n):
    return bytes(i % 251 for i in range(n))


@describe.register
def _(v: bytearray):
    return {"bytes": bytes(v).hex()}


@describe.register(list)
@describe.register(tuple)
def _(v):
    if hasattr(v, "_asdict"):
        if isinstance(v, _DeltaSnapshot):
            return {"delta": describe(v.value)}
        return of(v, 2, kwargs=v._asdict())
    return repeated(v) or {"list": [describe(i) for i in v]}


@describe.register
def _(v: dict):
    if len(v) >= LONG:
        assert v == dict.fromkeys(range(len(v)))
        return {"counting dict": len(v)}
    return {"dict": [[describe_key(k), describe(i)] for k, i in v.items()]}


@describe.register(set)
@describe.register(frozenset)
@describe.register(collections.deque)
def _(v):
    return {type(v).__name__: [describe(i) for i in v]}


@describe.register
def _(v: datetime.datetime):
    offset = v.utcoffset()
    if offset is None:
        return {"naive": v.isoformat()}
    if offset.microseconds:
        return of(v, 3, args=[v.isoformat()], method="fromisoformat")
    return {"datetime": v.isoformat()}


@describe.register
def _(v: datetime.date):
    return {"date": v.isoformat()}


@describe.register
def _(v: datetime.timedelta):
    if abs(v.days) > 106750:
        return of(v, 1, args=[v.days, v.seconds, v.microseconds])
    return {"duration": str((v.days * 86400 + v.seconds) * 10**9 + v.microseconds * 1000)}


@describe.register
def _(v: datetime.time):
    names = ("hour", "minute", "second", "microsecond", "tzinfo", "fold")
    return of(v, 2, kwargs={n: getattr(v, n) for n in names})


@describe.register
def _(v: datetime.timezone):
    return of(v, 1, args=v.__getinitargs__())


@describe.register
def _(v: zoneinfo.ZoneInfo):
    return of(v, 0, args=[v.key])


@describe.register
def _(v: uuid.UUID):
    return {"uuid": str(v)}


@describe.register
def _(v: decimal.Decimal):
    return {"decimal": str(v)}


@describe.register(ipaddress.IPv4Address)
@describe.register(ipaddress.IPv4Interface)
@describe.register(ipaddress.IPv4Network)
@describe.register(ipaddress.IPv6Address)
@describe.register(ipaddress.IPv6Interface)
@describe.register(ipaddress.IPv6Network)
def _(v):
    return of(v, 0, args=[str(v)])


@describe.register
def _(v: pathlib.Path):
    return of(v, 1, args=v.parts)


@describe.register
def _(v: re.Pattern):
    return obj(1, "re", "compile", args=[v.pattern, v.flags])


@describe.register
def _(v: enum.Enum):
    return of(v, 0, args=[v.value])


@describe.register
def _(v: numpy.ndarray):
    order = "F" if v.flags.f_contiguous and not v.flags.c_contiguous else "C"
    return {
        "ndarray": {
            "dtype": v.dtype.str,
            "shape": list(v.shape),
            "order": order,
            "data": v.tobytes(order="A").hex(),
        }
    }


@describe.register
def _(v: BaseMessage):
    if type(v) is BaseMessage:
        return of(v, 5, kwargs=v.model_dump(), method="model_validate_json")
    fields = [[k, describe(i)] for k, i in v.model_dump().items()]
    return {"message": {"module": type(v).__module__, "name": type(v).__name__, "fields": fields}}


@describe.register
def _(v: pydantic.BaseModel):
    dumped = v.model_dump()
    if isinstance(dumped, dict):
        return of(v, 5, kwargs=dumped, method="model_validate_json")
    return of(v, 5, args=[dumped], method="model_validate_json")


@describe.register
def _(v: pydantic.SecretStr):
    return of(v, 0, args=[v.get_secret_value()])


@describe.register
def _(v: pydantic.v1.BaseModel):
    return of(v, 4, kwargs=v.dict())


@describe.register
def _(v: Item):
    # It has a dict method, which LangGraph takes for pydantic v1's.
    return of(v, 4, kwargs=v.dict())


@describe.register
def _(v: Send):
    timeout = None if v.timeout is None else describe(v.timeout)
    return {"send": {"node": v.node, "arg": describe(v.arg), "timeout": timeout}}


@describe.register
def _(v: TimeoutPolicy):
    if any(t is not None and not isinstance(t, float) for t in (v.run_timeout, v.idle_timeout)):
        return of(v, 2, kwargs={f.name: getattr(v, f.name) for f in dataclasses.fields(v)})
    return {
        "timeout": {
            "run_timeout": describe(v.run_timeout),
            "idle_timeout": describe(v.idle_timeout),
            "refresh_on": v.refresh_on,
        }
    }


@describe.register
def _(v: Interrupt):
    return {"interrupt": {"value": describe(v.value), "id": v.id, "schema": describe(v.response_schema)}}


@describe.register
def _(v: Overwrite):
    return {"overwrite": describe(v.value)}


@describe.register
def _(v: BaseException):
    return repr(v)


# ------------------------------------------------------------------- vectors


def integers():
    edges = {0, 1, 31, 32, 33, 127, 128, 255, 256, 32767, 32768, 65535, 65536}
    edges |= {2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1}
    for n in sorted(edges):
        yield f"int/{n}", n
        if n and n <= 2**63:
            yield f"int/-{n}", -n
            if n + 1 <= 2**63:
                yield f"int/-{n + 1}/next", -n - 1


def floats():
    for f in (0.0, -0.0, 1.0, -1.5, 0.1, 1 / 3, 1e-320, 5e-324, 1.7976931348623157e308, 2.0**53, 1e22, 16777217.0):
        yield f"float/{f!r}", f
    yield "float/nan", float("nan")
    yield "float/inf", float("inf")
    yield "float/-inf", float("-inf")


def strings():
    for n in (0, 1, 31, 32, 255, 256, 65535, 65536):
        yield f"str/length {n}", "x" * n
    for n in (10, 11, 85, 86):
        yield f"str/chinese {n}", "织" * n
    for name, s in {
        "nul": "a\0b",
        "emoji": "🧵🪡👩🏽‍🔬",
        "combining": "e\u0301",
        "right to left": "שלום",
        "line separators": "\u2028\u2029",
        "controls": "".join(map(chr, range(32))) + "\x7f",
        "noncharacters": "\uffff\ufffe\U0010ffff",
        "bom": "\ufeffx",
        "surrogate": "a\ud800b\udfff",
        "surrogate pair apart": "\ud83d\ude00",
        "subclass": Text("subclass"),
    }.items():
        yield f"str/{name}", s


def binaries():
    for n in (0, 1, 255, 256, 65535, 65536):
        yield f"bytes/length {n}", counting_bytes(n)
        yield f"bytes/in list {n}", [counting_bytes(n)]
    yield "bytearray/empty", bytearray()
    yield "bytearray/some", bytearray(b"\x00\xff")
    yield "bytearray/in list", [bytearray(b"\x00\xff"), memoryview(b"view")]


def containers():
    for n in (0, 1, 15, 16, 255, 256, 65535, 65536):
        yield f"list/length {n}", [0] * n
    for n in (0, 1, 15, 16, 30, 255, 256, 65535, 65536):
        yield f"dict/length {n}", dict.fromkeys(range(n))
        if n <= 256:
            yield f"dict/string keys {n}", {f"k{i}": i % 7 for i in range(n)}
    yield "list/mixed", [None, True, False, 1, -1, 1.5, "s", b"b", [], {}]
    yield "list/tuple", (1, (2, ()), [3])
    yield "list/subclass", Items([Number(3), Text("x")])
    yield "dict/order", {"z": 1, "a": 2, "m": 3}
    yield "dict/ordered", collections.OrderedDict(b=1, a=2)
    yield "dict/default", collections.defaultdict(list, a=[1])
    yield "dict/counter", collections.Counter("aab")
    yield "dict/nested", {"a": {"b": {"c": [{"d": {}}]}}}
    yield "dict/unicode keys", {"织": 1, "🧵": 2, "": 3}
    nested_list, nested_dict, nested_send = 1, "leaf", None
    for _ in range(250):
        nested_list = [nested_list]
        nested_dict = {"k": nested_dict}
    for _ in range(100):
        nested_send = Send("n", {"s": [nested_send]})
    yield "list/deep", nested_list
    yield "dict/deep", nested_dict
    yield "send/deep", nested_send


def keys():
    for name, key in {
        "int": 1,
        "negative": -129,
        "big": 2**64 - 1,
        "float": 1.5,
        "nan": float("nan"),
        "true": True,
        "none": None,
        "bytes": b"\x00k",
        "tuple": (1, "a", (None, 2.5)),
        "empty tuple": (),
        "datetime": datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
        "aware": datetime.datetime(2020, 1, 2, tzinfo=UTC),
        "date": datetime.date(2020, 1, 2),
        "uuid": uuid.UUID(int=7),
        "enum": Color.RED,
        "int enum": Level.ONE,
    }.items():
        yield f"key/{name}", {key: name}
    yield "key/mixed", {1: "a", "1": "b", 1.5: "c", None: "d", b"1": "e", (1,): "f"}
    yield "key/repeated", {Color.SEVEN: "enum", 7: "int", "x": 1}
    yield "key/repeated often", {**{i: i for i in range(40)}, Color.SEVEN: "enum"}


def times():
    zone = datetime.timezone
    delta = datetime.timedelta
    moment = datetime.datetime(2025, 3, 9, 14, 5, 6, 789012)
    for name, v in {
        "naive": moment,
        "naive seconds": moment.replace(microsecond=0),
        "naive midnight": datetime.datetime(2025, 3, 9),
        "naive min": datetime.datetime.min,
        "naive max": datetime.datetime.max,
        "one microsecond": moment.replace(microsecond=1),
        "milliseconds": moment.replace(microsecond=120000),
        "utc": moment.replace(tzinfo=UTC),
        "utc seconds": moment.replace(microsecond=0, tzinfo=UTC),
        "east": moment.replace(tzinfo=zone(delta(hours=5, minutes=45))),
        "west": moment.replace(tzinfo=zone(delta(hours=-9, minutes=-30))),
        "named": moment.replace(tzinfo=zone(delta(hours=1), "CET")),
        "offset seconds": moment.replace(tzinfo=zone(delta(minutes=53, seconds=28))),
        "offset west seconds": moment.replace(tzinfo=zone(delta(hours=-4, seconds=-2))),
        "offset microseconds": moment.replace(tzinfo=zone(delta(seconds=1, microseconds=5))),
        "offset one minute west": moment.replace(tzinfo=zone(-delta(minutes=1))),
        "largest offset": moment.replace(tzinfo=zone(delta(hours=23, minutes=59))),
        "year 1": datetime.datetime(1, 1, 1, tzinfo=zone(delta(hours=1))),
        "year 9999": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=zone(delta(hours=-1))),
        "zoneinfo": moment.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
        "zoneinfo old": datetime.datetime(1890, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
        "fold": datetime.datetime(2020, 10, 25, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"), fold=1),
        "leap day": datetime.datetime(2024, 2, 29, tzinfo=UTC),
    }.items():
        yield f"datetime/{name}", v
    for d in (datetime.date.min, datetime.date(2024, 2, 29), datetime.date.max):
        yield f"date/{d}", d
    for name, v in {
        "zero": delta(0),
        "microsecond": delta(microseconds=1),
        "minus microsecond": delta(microseconds=-1),
        "day": delta(days=1),
        "minus day and a bit": delta(days=-1, seconds=-1, microseconds=-1),
        "hours": delta(hours=36, minutes=1, microseconds=7),
        "longest Duration": delta(days=106750, seconds=86399, microseconds=999999),
        "shortest Duration": delta(days=-106750),
        "too long": delta(days=106752),
        "min": delta.min,
        "max": delta.max,
    }.items():
        yield f"timedelta/{name}", v
    yield "time/naive", datetime.time(1, 2, 3, 4)
    yield "time/aware", datetime.time(23, 59, 59, tzinfo=UTC, fold=1)
    yield "timezone/utc", UTC
    yield "timezone/offset", zone(delta(hours=-3))
    yield "timezone/named", zone(delta(hours=1), "CET")
    yield "zoneinfo/berlin", zoneinfo.ZoneInfo("Europe/Berlin")


def library_types():
    yield "uuid/nil", uuid.UUID(int=0)
    yield "uuid/v4", uuid.UUID("6f1c2a34-9a0b-4cde-8f00-0123456789ab")
    yield "uuid/max", uuid.UUID(int=2**128 - 1)
    for d in ("0", "-0", "1.50", "1E+3", "1E-28", "-123456789012345678901234567890.123", "NaN", "-NaN123", "sNaN", "Infinity", "-Infinity"):
        yield f"decimal/{d}", decimal.Decimal(d)
    yield "set/empty", set()
    yield "set/ints", {1, 2, 3}
    yield "set/strings", {"warp", "weft", "loom"}
    yield "set/nested", {(1, "a"), frozenset({2})}
    yield "frozenset/some", frozenset([5, 6])
    yield "deque/some", collections.deque([1, "a", None])
    yield "deque/maxlen", collections.deque([1, 2, 3], maxlen=2)
    yield "path/absolute", pathlib.PosixPath("/var/lib/loom")
    yield "path/relative", pathlib.PosixPath("a/b.txt")
    yield "path/empty", pathlib.PosixPath("")
    yield "re/plain", re.compile("a+")
    yield "re/flags", re.compile(r"(?P<x>\d+)", re.IGNORECASE | re.MULTILINE)
    yield "re/bytes", re.compile(rb"\x00+")
    for a in ("192.168.0.1", "::1", "2001:db8::8a2e:370:7334"):
        yield f"ip/{a}", ipaddress.ip_address(a)
    for n in ("10.0.0.0/8", "2001:db8::/32"):
        yield f"ip/network {n}", ipaddress.ip_network(n)
        yield f"ip/interface {n}", ipaddress.ip_interface(n)
    yield "enum/plain", Color.RED
    yield "enum/number", Color.SEVEN
    yield "enum/str", Name.WARP
    yield "enum/int", Level.ONE
    yield "enum/in containers", {"c": [Color.RED, {"l": Level.ONE}]}
    yield "namedtuple/point", Point(1, 2.5)
    yield "namedtuple/nested", Point(Point(None, []), {"a": (1,)})
    yield "dataclass/plain", Loom("jacquard")
    yield "dataclass/nested", Loom("outer", [1, {2: 3}], Loom("inner", [], Color.RED))
    yield "pydantic/v2", Model(name="a")
    yield "pydantic/v2 full", Model(
        name="织", when=datetime.datetime(2025, 1, 1, tzinfo=UTC), tags={1, 2}, nested=Model(name="b")
    )
    yield "pydantic/root", Root([1, 2, 3])
    yield "pydantic/secret", pydantic.SecretStr("s3cret")
    yield "pydantic/v1", OldModel(name="old")
    yield "document/plain", Document("text", metadata={"source": "a.txt", "page": 3})
    yield "document/id", Document("text", id="d1")
    yield "item/plain", Item(
        value={"a": 1},
        key="k",
        namespace=("users", "42"),
        created_at=datetime.datetime(2025, 1, 1, tzinfo=UTC),
        updated_at=datetime.datetime(2025, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    )
    yield "exception/plain", ValueError("no thread")
    yield "exception/in list", [KeyError("k")]


def arrays():
    grid = numpy.arange(6, dtype="<i4").reshape(2, 3)
    for name, a in {
        "float64": numpy.array([1.5, -0.0, float("nan")]),
        "float32": numpy.array([0.1, 0.2], dtype="<f4"),
        "float16": numpy.array([0.5], dtype="<f2"),
        "int8": numpy.array([1, -1], dtype="i1"),
        "big endian": numpy.array([1, 2], dtype=">u2"),
        "bool": numpy.array([True, False]),
        "complex": numpy.array([1 + 2j]),
        "empty": numpy.array([], dtype="<f8"),
        "scalar": numpy.array(7, dtype="<i8"),
        "grid": grid,
        "fortran": numpy.asfortranarray(grid),
        "strided": grid[:, ::2],
        "text": numpy.array(["ab", "织"], dtype="<U2"),
        "more than 255 bytes": numpy.arange(300, dtype="<f8"),
        "four dimensions": numpy.zeros((2, 1, 3, 1), dtype="u1"),
    }.items():
        yield f"ndarray/{name}", a
    yield "ndarray/in dict", {"embedding": numpy.array([1.0])}


def graph_types():
    yield "send/plain", Send("node", {"a": 1})
    yield "send/none", Send("node", None)
    yield "send/message", Send("tools", [AIMessage("hi", id="1")])
    yield "send/timeout", Send("node", 1, timeout=2.5)
    yield "send/policy", Send("node", 1, timeout=TimeoutPolicy(idle_timeout=1, refresh_on="heartbeat"))
    yield "send/delta timeout", Send("node", 1, timeout=datetime.timedelta(minutes=1))
    yield "send/list", [Send("a", 1), Send("b", [2])]
    yield "timeout/both", TimeoutPolicy(run_timeout=1.5, idle_timeout=0.25)
    yield "timeout/int", TimeoutPolicy(run_timeout=3)
    yield "timeout/delta", TimeoutPolicy(run_timeout=datetime.timedelta(seconds=3))
    yield "interrupt/plain", Interrupt("approve?", id="abc")
    yield "interrupt/placeholder", Interrupt({"question": ["a", "b"]})
    yield "interrupt/schema", Interrupt(1, id="x", response_schema={"type": "object"})
    yield "interrupt/tuple", (Interrupt("a", id="1"), Interrupt(None, id="2"))
    yield "overwrite/list", Overwrite(["a"])
    yield "command/empty", Command()
    yield "command/full", Command(graph="__parent__", update={"a": 1}, resume={"i": 2}, goto=[Send("n", 1), "m"])
    yield "delta/list", _DeltaSnapshot([1, "a"])
    yield "delta/none", _DeltaSnapshot(None)
    yield "delta/messages", _DeltaSnapshot([HumanMessage("hi", id="1")])
    yield "delta/nested", [_DeltaSnapshot(_DeltaSnapshot({}))]


PARTS = [
    "plain",
    {"type": "text", "text": "some text"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
    {"type": "text", "text": "end", "cache_control": {"type": "ephemeral"}},
]
CALL = {"name": "search", "args": {"query": "weft", "limit": 3, "nested": {"z": [1, None], "a": True}}, "id": "call-1"}
USAGE = {"input_tokens": 350, "output_tokens": 240, "total_tokens": 590}
PROVIDER_CALLS = [
    {"id": "call-1", "type": "function", "function": {"name": "search", "arguments": '{"q": "weft", "n": 2}'}},
    {"id": "call-2", "type": "function", "function": {"name": "search", "arguments": '{"q": '}},
    {"id": "call-3", "type": "function", "function": {"name": "now", "arguments": "null"}},
]


def messages():
    for cls in (HumanMessage, SystemMessage, AIMessage, HumanMessageChunk, SystemMessageChunk, AIMessageChunk):
        name = cls.__name__
        yield f"message/{name}/text", cls("hello")
        yield f"message/{name}/empty", cls("")
        yield f"message/{name}/unicode", cls("织机 🧵\0")
        yield f"message/{name}/id and name", cls("hello", id="m-1", name="ada")
        yield f"message/{name}/parts", cls(PARTS)
        yield f"message/{name}/no parts", cls([])
        yield f"message/{name}/metadata", cls(
            "x", additional_kwargs={"z": 1, "a": [None]}, response_metadata={"model": "m", "n": 1.5}
        )
        yield f"message/{name}/extra fields", cls("x", zeta=1, alpha={"b": 2, "a": 1}, id="1")
        yield f"message/{name}/long", cls("thread " * 40)
        yield f"message/{name}/longer than 64K", cls("thread " * 10000)
    ai = AIMessage
    yield "message/AIMessage/tool call", ai("", tool_calls=[CALL])
    yield "message/AIMessage/tool calls", ai("let me see", tool_calls=[CALL, {"name": "now", "args": {}, "id": None}], id="2")
    yield "message/AIMessage/invalid tool call", ai(
        "", invalid_tool_calls=[{"name": "f", "args": "{", "id": "i", "error": "bad JSON"}]
    )
    yield "message/AIMessage/bare invalid tool call", ai("", invalid_tool_calls=[{"name": "f"}])
    yield "message/AIMessage/usage", ai("x", usage_metadata=USAGE)
    yield "message/AIMessage/usage details", ai(
        "x",
        usage_metadata={
            **USAGE,
            "output_token_details": {"aa": 4, "reasoning": 2, "audio": 3, "zz": 1},
            "input_token_details": {"cache_read": 1, "flex": 2, "audio": 0, "cache_creation": 200},
        },
    )
    yield "message/AIMessage/usage no details", ai("x", usage_metadata={**USAGE, "input_token_details": {}})
    yield "message/AIMessage/usage extra", ai("x", usage_metadata={**USAGE, "cost": 0.5})
    yield "message/AIMessage/provider calls", ai("", additional_kwargs={"tool_calls": PROVIDER_CALLS})
    yield "message/AIMessage/everything", ai(
        PARTS,
        id="run-1",
        name="loom",
        tool_calls=[CALL],
        usage_metadata=USAGE,
        additional_kwargs={"refusal": None},
        response_metadata={"finish_reason": "tool_calls", "logprobs": None, "headers": {}},
    )
    yield "message/AIMessageChunk/tool call", AIMessageChunk(
        "", tool_call_chunks=[{"name": "f", "args": '{"a": 1', "id": "1", "index": 0}], chunk_position="last"
    )
    for cls in (ToolMessage, ToolMessageChunk):
        name = cls.__name__
        yield f"message/{name}/text", cls("42", tool_call_id="call-1")
        yield f"message/{name}/error", cls("no", tool_call_id="call-1", status="error", name="search", id="t")
        yield f"message/{name}/artifact", cls("ok", tool_call_id="c", artifact={"rows": [(1, 2)], "raw": b"\x00"})
        yield f"message/{name}/object artifact", cls("ok", tool_call_id="c", artifact=Document("text"))
        yield f"message/{name}/parts", cls(PARTS, tool_call_id="c")
    yield "message/ToolMessage/coerced", ToolMessage(3, tool_call_id=7)
    for cls in (FunctionMessage, FunctionMessageChunk):
        yield f"message/{cls.__name__}/text", cls("42", name="f")
    for cls in (ChatMessage, ChatMessageChunk):
        yield f"message/{cls.__name__}/text", cls("hi", role="critic")
    yield "message/RemoveMessage/id", RemoveMessage(id="m-1")
    yield "message/RemoveMessage/all", RemoveMessage(id="__remove_all__")
    yield "message/BaseMessage/custom", BaseMessage("x", type="custom")
    yield "messages/conversation", [
        SystemMessage("You are a weaver.", id="0"),
        HumanMessage("Which thread?", id="1"),
        AIMessage("", tool_calls=[CALL], usage_metadata=USAGE, id="2"),
        ToolMessage("the red one", tool_call_id="call-1", name="search", id="3"),
        AIMessage("The red one.", id="4", response_metadata={"model_name": "m"}),
    ]
    yield "messages/state", {"messages": [HumanMessage("a", id="1")], "step": 3, "seen": {"x"}}


def by_hand():
    """What other versions and other writers left in databases."""

    def packed(code, *parts):
        return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(parts)))

    def fields(**kwargs):
        return [[k, describe(v)] for k, v in kwargs.items()]

    types, human = "langgraph.types", "langchain_core.messages.human"
    yield "old/interrupt 0.6", Once(
        packed(2, types, "Interrupt", {"value": "v", "id": "i"}), {"old interrupt": {"value": "v", "id": "i"}}
    )
    older = {"value": "v", "resumable": True, "ns": ["a"], "when": "during"}
    yield "old/interrupt 0.2", Once(packed(2, types, "Interrupt", older), obj(2, types, "Interrupt", kwargs=older))
    yield "old/overwrite", Once(packed(2, types, "Overwrite", {"value": [1]}), {"old overwrite": describe([1])})
    example = dict(
        content="x", additional_kwargs={}, response_metadata={}, type="human", name=None, id="1", example=False
    )
    yield "old/human example", Once(
        packed(5, human, "HumanMessage", example, "model_validate_json"),
        {"message": {"module": human, "name": "HumanMessage", "fields": fields(**example)}},
    )
    early = dict(
        content="x",
        additional_kwargs={},
        response_metadata={},
        type="ai",
        name=None,
        id=None,
        example=False,
        tool_calls=[{"name": "f", "args": {}, "id": "1"}],
        invalid_tool_calls=[],
    )
    yield "old/ai without usage", Once(
        packed(5, "langchain_core.messages.ai", "AIMessage", early, "model_validate_json"),
        {"message": {"module": "langchain_core.messages.ai", "name": "AIMessage", "fields": fields(**early)}},
    )
    no_content = {"type": "human"}
    yield "odd/message without content", Once(
        packed(5, human, "HumanMessage", no_content, "model_validate_json"),
        obj(5, human, "HumanMessage", kwargs=no_content, method="model_validate_json"),
    )
    yield "odd/message elsewhere", Once(
        packed(5, "weaver", "HumanMessage", {"content": "x"}, "model_validate_json"),
        obj(5, "weaver", "HumanMessage", kwargs={"content": "x"}, method="model_validate_json"),
    )
    yield "odd/send of three", Once(
        packed(1, types, "Send", ("n", 1, None)), obj(1, types, "Send", args=["n", 1, None])
    )
    yield "odd/uuid with dashes", Once(
        packed(0, "uuid", "UUID", str(uuid.UUID(int=1))), obj(0, "uuid", "UUID", args=[str(uuid.UUID(int=1))])
    )
    yield "odd/datetime with Z", Once(
        packed(3, "datetime", "datetime", "2025-01-01T00:00:00Z", "fromisoformat"),
        obj(3, "datetime", "datetime", args=["2025-01-01T00:00:00Z"], method="fromisoformat"),
    )
    yield "odd/date of February", Once(
        packed(1, "datetime", "date", (2025, 2, 30)), obj(1, "datetime", "date", args=[2025, 2, 30])
    )
    for code, data in ((8, b"x"), (-1, b"\0\0\0\0"), (0, b"\x01"), (1, b"\x93\xa1a\xa1b\x01"), (6, b"\x90"), (5, b""), (7, b"")):
        packed_ext = ormsgpack.packb(ormsgpack.Ext(code, data)) if code >= 0 else b"\xd6\xff" + data
        yield f"odd/ext {code} {data.hex()}", Once(packed_ext, {"ext": {"code": code, "data": data.hex()}})
    yield "odd/float32", Once(b"\xca\x3f\xc0\x00\x00", {"float32": "3fc00000"})


GROUPS = (
    integers, floats, strings, binaries, containers, keys, times, library_types, arrays, graph_types, messages, by_hand,
)


def vectors():
    yield {"name": "null", "type": "null", "data": "", "value": None}
    for scalar in (True, False):
        yield vector(f"bool/{scalar}", scalar)
    for group in GROUPS:
        for name, value in group():
            yield vector(name, value)


def vector(name, value):
    if isinstance(value, Once):
        return {"name": name, "type": "msgpack", **stored(value.data), "value": value.value}
    tag, data = SERDE.dumps_typed(value)
    described = describe(value)
    if isinstance(value, bytearray):
        described = {"bytearray": bytes(value).hex()}
    return {"name": name, "type": tag, **stored(bytes(data)), "value": described}


def stored(data):
    if len(data) < LONG:
        return {"data": data.hex()}
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


# ---------------------------------------------------------------- older JSON


def lc(version, path, **rest):
    return {"lc": version, "type": "constructor", "id": path.split("."), **rest}


def json_vectors():
    schema = "langchain.schema.messages."
    documents = {
        "null": "null",
        "scalars": '[true, false, 0, -0, -1, 1.0, 1e5, -0.0, 1E400, "x"]',
        "big integers": "[9223372036854775807, 9223372036854775808, 18446744073709551615, -9223372036854775808]",
        "not numbers": "[NaN, Infinity, -Infinity]",
        "spaces": ' \n{ "a" : [ 1 , 2 ] , "b" : { } }\t',
        "bom": "\ufeff1",
        "escapes": r'"\"\\\/\b\f\n\r\t\u7ec7\ud83e\uddf5\u0000"',
        "lone surrogates": r'["\ud800", "a\udfffb", "\ud83dx", "\ud83d\ud83e\uddf5"]',
        "repeated key": '{"a": 1, "b": 2, "a": 3}',
        "order": '{"z": 1, "a": 2}',
        "human": lc_dumps(HumanMessage("hi", id="1")),
        "ai": lc_dumps(AIMessage("hi", tool_calls=[CALL], usage_metadata=USAGE)),
        "provider calls": lc_dumps(AIMessage("", additional_kwargs={"tool_calls": PROVIDER_CALLS})),
        "tool": lc_dumps(ToolMessage("42", tool_call_id="c", status="error")),
        "system": lc_dumps(SystemMessage(PARTS)),
        "remove": json.dumps(lc(1, schema + "RemoveMessage", kwargs={"id": "3"})),
        "chat": lc_dumps(ChatMessage("x", role="critic")),
        "function": lc_dumps(FunctionMessage("x", name="f")),
        "chunk": lc_dumps(HumanMessageChunk("x")),
        "extra field": json.dumps(lc(1, schema + "HumanMessage", kwargs={"foo": 1, "content": "x", "bar": 2})),
        "calls without type": json.dumps(
            lc(1, schema + "AIMessage", kwargs={"content": "", "tool_calls": [{"id": "1", "args": {"b": 1}, "name": "f"}]})
        ),
        "written by javascript": json.dumps(
            {
                "messages": [
                    lc(1, "langchain_core.messages.HumanMessage", kwargs={"content": "hi", "additional_kwargs": {}}),
                    lc(1, "langchain_core.messages.AIMessage", kwargs={"content": "yo", "tool_calls": []}),
                ]
            }
        ),
        "lc 2 human": json.dumps(
            lc(2, "langchain_core.messages.human.HumanMessage", method=[None, "construct"], kwargs={"content": "hi"})
        ),
        "lc 2 uuid": json.dumps(lc(2, "uuid.UUID", args=["00000000000000000000000000000007"])),
        "lc 2 decimal": json.dumps(lc(2, "decimal.Decimal", args=["1.50"])),
        "lc 2 set": json.dumps(lc(2, "builtins.set", args=[[1, 2]])),
        "lc 2 deque": json.dumps(lc(2, "collections.deque", args=[[1, 2]])),
        "lc 2 date": json.dumps(lc(2, "datetime.date", args=[2025, 3, 9])),
        "lc 2 timedelta": json.dumps(lc(2, "datetime.timedelta", args=[1, 2, 3])),
        "lc 2 send": json.dumps(lc(2, "langgraph.types.Send", args=["n", {"a": 1}])),
        "lc 2 path": json.dumps(lc(2, "pathlib.PosixPath", args=["/", "var", "x"])),
        "lc 2 regex": json.dumps(lc(2, "re.compile", args=["a+", 34])),
        "lc 2 nested": json.dumps({"a": [lc(2, "builtins.set", args=[[lc(2, "uuid.UUID", args=["0" * 32])]])]}),
        "not an envelope": '{"lc": 1, "type": "constructor", "kwargs": {}}',
        "other lc": '{"lc": 3, "type": "constructor", "id": ["a", "b"]}',
    }
    for name, text in documents.items():
        value = SERDE.loads_typed(("json", text.encode("utf-8", "surrogatepass")))
        tag, data = SERDE.dumps_typed(value)
        yield {"name": name, "json": text, "type": tag, "data": data.hex(), "value": describe(value)}


# ----------------------------------------------------------------- encrypted


class Nonces:
    """Deterministic in place of random, so that the file can be checked."""

    def __init__(self):
        self.count = 0

    def __call__(self, n):
        self.count += 1
        return bytes((self.count * 31 + i * 7) % 256 for i in range(n))


KEYS = {16: "0123456789abcdef", 24: "0123456789abcdef01234567", 32: "0123456789abcdef0123456789abcdef"}


def encrypted_vectors():
    _mode_eax.get_random_bytes = Nonces()
    values = {
        "none": None,
        "bytes": b"\x00\x01",
        "bytearray": bytearray(b"x"),
        "text": "plain text",
        "block": "x" * 14,
        "two blocks": "x" * 30,
        "long": "weft " * 1000,
        "message": [HumanMessage("secret", id="1")],
    }
    for size, key in KEYS.items():
        serde = EncryptedSerializer.from_pycryptodome_aes(key=key.encode())
        for name, value in values.items():
            tag, data = serde.dumps_typed(value)
            plain_tag, plain = SERDE.dumps_typed(value)
            yield {
                "name": f"{name}, {size * 8} bits",
                "key": key,
                "type": tag,
                "data": data.hex(),
                "plain_type": plain_tag,
                "plain_data": bytes(plain).hex(),
            }


def check_from_go():
    """Decrypt with pycryptodome what Go encrypted, and compare."""
    path = HERE / "from_go.json"
    for v in json.loads(path.read_text()):
        serde = EncryptedSerializer.from_pycryptodome_aes(key=v["key"].encode())
        value = serde.loads_typed((v["type"], bytes.fromhex(v["data"])))
        tag, data = SERDE.dumps_typed(value)
        if (tag, bytes(data).hex()) != (v["plain_type"], v["plain_data"]):
            raise SystemExit(f"{path.name}: {v['name']}: Python reads {value!r}")


# ---------------------------------------------------------------------- main


def render(rows):
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=True) for row in rows) + "\n]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if anything would change")
    check = parser.parse_args().check
    files = {"vectors.json": vectors, "json.json": json_vectors, "encrypted.json": encrypted_vectors}
    for name, rows in files.items():
        text = render(rows())
        path = HERE / name
        if not check:
            path.write_text(text)
        elif path.read_text() != text:
            raise SystemExit(f"{name} differs from what this Python writes: run generate.py")
        print(f"{name}: {text.count(chr(10)) - 2} vectors", file=sys.stderr)
    if check:
        check_from_go()


if __name__ == "__main__":
    main()
