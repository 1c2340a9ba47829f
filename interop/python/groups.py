"""Groups of tests and how their results are counted and printed: `name: N passed, N failed`."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

Test = Callable[..., Awaitable[None]]


@dataclass
class Count:
    """What came of one group."""

    name: str
    passed: int = 0
    failed: int = 0
    # Why the group is not to be trusted although no test failed.
    doubts: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name}: {self.passed} passed, {self.failed} failed"

    def good(self) -> bool:
        return self.passed > 0 and self.failed == 0 and not self.doubts

    def report(self) -> None:
        for doubt in self.doubts:
            print(f"  {self.name}: {doubt}")
        print(self, flush=True)


class Group:
    """Tests of our own, each an async function; its docstring's first line says what holds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tests: dict[str, Test] = {}

    def test(self, function: Test) -> Test:
        name = function.__name__
        if name in self.tests:
            raise ValueError(f"{self.name} has two tests named {name}")
        self.tests[name] = function
        return function

    async def run(self, *arguments: Any, variants: dict[str, tuple[Any, ...]] | None = None) -> Count:
        """Run every test with the arguments, and once for each variant with what that adds."""
        count = Count(self.name)
        for suffix, extra in (variants or {"": ()}).items():
            for name, test in self.tests.items():
                try:
                    await test(*arguments, *extra)
                except Exception:
                    count.failed += 1
                    print(f"  {self.name}: {name}{suffix} failed:\n{traceback.format_exc()}")
                else:
                    count.passed += 1
        return count
