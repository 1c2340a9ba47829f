"""LangGraph's own conformance suite, as its package has it, against the Go saver."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import pkgutil
from collections.abc import Collection

from langgraph.checkpoint.conformance import checkpointer_test, spec, validate
from langgraph.checkpoint.conformance.initializer import RegisteredCheckpointer
from langgraph.checkpoint.conformance.report import ProgressCallbacks

from bridge import Bridge
from groups import Count
from saver import BridgeSaver

PACKAGE = "langgraph-checkpoint-conformance"


def contained() -> dict[str, set[str]]:
    """The tests that the installed release contains, by module: test_put and so on, one module for each capability."""
    tests: dict[str, set[str]] = {}
    for info in pkgutil.iter_modules(spec.__path__):
        module = importlib.import_module(f"{spec.__name__}.{info.name}")
        found = {
            name
            for name, function in inspect.getmembers(module, inspect.iscoroutinefunction)
            if name.startswith("test_") and function.__module__ == module.__name__
        }
        if found:
            tests[info.name.removeprefix("test_")] = found
    return tests


async def run(bridge: Bridge) -> tuple[list[Count], Count]:
    """Run every capability; the counts of each, and of the whole release."""

    @checkpointer_test(name="pgsaver")
    async def pgsaver():
        yield BridgeSaver(bridge)

    return await run_with(pgsaver, f"{PACKAGE} {importlib.metadata.version(PACKAGE)}")


async def run_with(
    registered: RegisteredCheckpointer, name: str, beyond: Collection[str] = ()
) -> tuple[list[Count], Count]:
    """Run every capability of a saver but those that are beyond it, of which it must have none."""

    ran: dict[str, set[str]] = {}

    def on_test_result(capability: str, name: str, passed: bool, error: str | None) -> None:
        ran.setdefault(capability, set()).add(name)
        if not passed:
            print(f"  {capability}: {name} failed:\n{error}")

    report = await validate(registered, progress=ProgressCallbacks(on_test_result=on_test_result))

    expected = {capability: tests for capability, tests in contained().items() if capability not in beyond}
    for capability in beyond:
        result = report.results.pop(capability)
        assert not result.detected, f"the saver has {capability}, so it is not beyond it"
        print(f"  {name}: without {capability}, which it does not implement")
    counts = []
    for capability in sorted(expected.keys() | report.results.keys(), key=list(report.results).index):
        counts.append(count(capability, expected.get(capability, set()), ran.get(capability, set()), report.results))
    whole = Count(
        name,
        passed=sum(c.passed for c in counts),
        failed=sum(c.failed for c in counts),
    )
    total = sum(len(names) for names in expected.values())
    if whole.passed + whole.failed != total:
        whole.doubts.append(f"the release contains {total} tests")
    return counts, whole


def count(capability: str, expected: set[str], ran: set[str], results: dict) -> Count:
    result = results.get(capability)
    if result is None:
        return Count(capability, doubts=["the release has tests for it and does not run them"])
    counted = Count(capability, passed=result.tests_passed, failed=result.tests_failed)
    if not result.detected:
        counted.doubts.append("the suite does not see the capability")
    if result.tests_skipped:
        counted.doubts.append(f"{result.tests_skipped} skipped")
    if missing := expected - ran:
        counted.doubts.append(f"did not run: {', '.join(sorted(missing))}")
    return counted
