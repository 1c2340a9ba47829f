"""The Go program that holds the saver, and how to call it.

Any thread, and any event loop, may call at once; the program answers in the order of the calls. See bridge/server.go for
the lines that pass.
"""

from __future__ import annotations

import collections
import json
import subprocess
import threading
from concurrent.futures import Future
from typing import Any


class BridgeError(Exception):
    """The Go saver answered with an error, or did not answer."""


class BridgeEndedError(BridgeError):
    """The program has ended, so that nothing can be asked of it any more."""


class NotFoundError(BridgeError, LookupError):
    """A checkpoint does not exist."""


class InvalidArgumentError(BridgeError, ValueError):
    """An argument cannot be used; nothing was saved."""


class VersionCollisionError(BridgeError):
    """A channel already has another value under the version to be saved."""


class PinnedError(BridgeError):
    """A checkpoint is pinned or guarded against what was asked for."""


class CorruptError(BridgeError):
    """Stored state is damaged."""


class NotEnabledError(BridgeError):
    """The feature is not enabled in this database."""


class SchemaError(BridgeError):
    """The schema is missing, outdated or too new."""


KINDS: dict[str, type[BridgeError]] = {
    "not_found": NotFoundError,
    "invalid_argument": InvalidArgumentError,
    "version_collision": VersionCollisionError,
    "pinned": PinnedError,
    "corrupt": CorruptError,
    "not_enabled": NotEnabledError,
    "schema": SchemaError,
    "other": BridgeError,
}


class Bridge:
    """A running bridge. Use it in a with statement, which ends it and the Postgres it started."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lock = threading.Lock()
        self._waiting: collections.deque[Future[Any]] = collections.deque()
        self._ended = False
        greeting = self._process.stdout.readline()
        if not greeting:
            raise BridgeEndedError(f"the bridge did not start: it ended with status {self._process.wait()}")
        self.greeting: dict[str, Any] = json.loads(greeting)
        self._reader = threading.Thread(target=self._read, name="bridge", daemon=True)
        self._reader.start()

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, method: str, params: dict[str, Any]) -> Future[Any]:
        """Ask for a method of the saver. The future's exception is a BridgeError."""
        future: Future[Any] = Future()
        # Running from the start: a caller that stops waiting does not take the request back.
        future.set_running_or_notify_cancel()
        # Not ASCII only, so that text which is no Unicode is refused here rather than changed on the way.
        line = json.dumps({"method": method, "params": params}, ensure_ascii=False, allow_nan=False).encode()
        with self._lock:
            if self._ended:
                raise BridgeEndedError("the bridge has ended")
            self._waiting.append(future)
            try:
                self._process.stdin.write(line + b"\n")
                self._process.stdin.flush()
            except OSError as error:
                raise BridgeEndedError("the bridge has ended") from error
        return future

    def close(self) -> None:
        """End the bridge and wait until it has removed what it started."""
        with self._lock:
            if not self._process.stdin.closed:
                self._process.stdin.close()
        self._reader.join()
        if status := self._process.wait():
            raise BridgeEndedError(f"the bridge ended with status {status}")

    def _read(self) -> None:
        for line in self._process.stdout:
            answer = json.loads(line)
            with self._lock:
                future = self._waiting.popleft()
            if error := answer.get("error"):
                future.set_exception(KINDS[error["kind"]](error["message"]))
            else:
                future.set_result(answer["result"])
        with self._lock:
            self._ended = True
            abandoned = list(self._waiting)
        for future in abandoned:
            future.set_exception(BridgeEndedError("the bridge ended before it answered"))
