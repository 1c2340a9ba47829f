"""Groups of tests and how their results are counted and printed: `name: N passed, N failed`."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from bridge import BridgeEndedError

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
    """Tests of our own: async functions whose names say what holds."""

    def __init__(self) -> None:
        self.tests: dict[str, Test] = {}
        # Why LangGraph's PostgresSaver cannot pass a test.
        self.beyond_postgres_saver: dict[str, str] = {}

    def test(self, function: Test) -> Test:
        name = function.__name__
        if name in self.tests:
            raise ValueError(f"there are two tests named {name}")
        self.tests[name] = function
        return function

    async def run(self, name: str, *arguments: Any, variants: dict[str, tuple[Any, ...]], shared: bool = False) -> Count:
        """Run every test with the arguments, once for each variant with what that adds.

        With a saver that is shared with PostgresSaver, those beyond it are left out, and named.
        """
        count = Count(name)
        for suffix, extra in variants.items():
            for test_name, test in self.tests.items():
                if shared and test_name in self.beyond_postgres_saver:
                    print(f"  {name}: without {test_name}{suffix}: {self.beyond_postgres_saver[test_name]}")
                    continue
                try:
                    await test(*arguments, *extra)
                except Exception as error:
                    count.failed += 1
                    print(f"  {name}: {test_name}{suffix} failed:\n{traceback.format_exc()}")
                    if isinstance(error, BridgeEndedError):
                        count.doubts.append("the others did not run")
                        return count
                else:
                    count.passed += 1
        return count
