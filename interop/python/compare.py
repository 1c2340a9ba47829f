"""Comparing what two savers give back, down to the types of values."""

from __future__ import annotations

import dataclasses
import difflib
import pprint
from collections import deque
from typing import Any

from langgraph.types import Send
from pydantic import BaseModel


def canonical(value: Any) -> Any:
    """A value as lists and text that are equal only for equal values of equal types; NaN equals itself, 1 is not True."""
    kind = type(value).__qualname__
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return [kind, value]
    if isinstance(value, dict):
        pairs = [[canonical(key), canonical(element)] for key, element in value.items()]
        return [kind, sorted(pairs, key=repr)]
    if isinstance(value, (set, frozenset)):
        return [kind, sorted((canonical(element) for element in value), key=repr)]
    if isinstance(value, (list, tuple, deque)):
        return [kind, [canonical(element) for element in value]]
    if isinstance(value, Send):
        return [kind, value.node, canonical(value.arg), canonical(value.timeout)]
    if isinstance(value, BaseModel):
        return [kind, canonical(dict(value.__dict__))]
    if dataclasses.is_dataclass(value):
        return [kind, [[f.name, canonical(getattr(value, f.name))] for f in dataclasses.fields(value)]]
    return [kind, repr(value)]


def assert_same(what: str, got: Any, want: Any) -> None:
    """Fail with the difference unless both are equal as canonical has it."""
    if (got := canonical(got)) != (want := canonical(want)):
        lines = difflib.unified_diff(
            pprint.pformat(want, width=140).splitlines(), pprint.pformat(got, width=140).splitlines(),
            "expected", "got", lineterm="", n=4,
        )
        raise AssertionError(f"{what} differs:\n" + "\n".join(lines))
