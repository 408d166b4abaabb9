"""The load generator as seen from here: started, fed, listened to, and ended whatever happens."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from threading import Thread
from types import TracebackType
from typing import Any, Final

from sluicegate.contracts.errors import Unavailable

_DRIVER: Final = "sluicegate.console.loading.driver"
_STOP_SECONDS: Final = 10.0
_LOG_BYTES: Final = 2000
MISSING: Final = "the load generator needs {}: pip install 'sluicegate[ci]'"


def available() -> None:
    """Raises Unavailable without locust, which is looked for and not imported."""
    if find_spec("locust") is None:
        raise Unavailable(MISSING.format("locust"))


class Generator:
    """The process. Use as a context; iterate `lines` once.

    settings: `timeout`, `think_time`, `max_in_flight`, `grace`. sessions: `{n, at, runs: [{url, headers, body}]}`, taken
    from a thread of its own as the process asks for them.
    """

    def __init__(self, settings: dict[str, Any], sessions: Iterable[dict[str, Any]]) -> None:
        self._settings, self._sessions = settings, sessions
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process: subprocess.Popen[bytes] | None = None
        self._feeder: Thread | None = None
        self._fault: BaseException | None = None
        self._stopped = False

    def __enter__(self) -> "Generator":
        """Start it. Its own session: Ctrl-C is for us, and we tell it."""
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", _DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self._feeder = Thread(target=self._feed, name="sessions", daemon=True)
        self._feeder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it and all that it started."""
        process = self._running
        if process.poll() is None and kind is None:
            self.stop()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if self._feeder is not None:
            self._feeder.join()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._log.close()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._running.pid

    def lines(self) -> Iterator[dict[str, Any]]:
        """What it tells, until its `end`. Raises Unavailable when it ends without one."""
        stream = self._running.stdout
        assert stream is not None  # noqa: S101 - a pipe was asked for
        for line in stream:
            told = json.loads(line)
            if told["t"] == "missing":
                raise Unavailable(MISSING.format(told["module"]))
            if told["t"] == "end":
                return
            yield told
        if self._fault is not None:
            raise self._fault
        code = self._running.wait()
        if self._stopped and code == -signal.SIGTERM:
            return  # before it could send anything
        how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        raise Unavailable(
            f"the load generator {how}, in the middle of the test; nothing is judged{self._tail()}"
        )

    def stop(self) -> None:
        """No more sessions; those in flight get their grace."""
        self._stopped = True
        if self._running.poll() is None:
            self._running.terminate()

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None  # noqa: S101 - used as a context
        return self._process

    def _feed(self) -> None:
        stream = self._running.stdin
        assert stream is not None  # noqa: S101 - a pipe was asked for
        try:
            stream.write(_line(self._settings))
            for session in self._sessions:
                stream.write(_line(session))
            stream.close()
        except OSError:
            return  # it has ended, which `lines` tells
        except BaseException as error:  # noqa: BLE001 - the top of a thread; raised by `lines`
            self._fault = error
            self._running.kill()

    def _tail(self) -> str:
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - _LOG_BYTES))
        said = self._log.read().decode(errors="replace").strip()
        return f"\n{said}" if said else ""


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
