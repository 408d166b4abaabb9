"""The load generator: a process of its own, because `import locust` replaces sockets, threads and time of whoever does it.

    python -m sluicegate.console.loading.driver

Standard input: a line with the settings, then a line for each session, in order of time. Standard output: JSON lines, one for
each run, each session that was not sent, and each second; `end` at the end. SIGTERM: no more sessions, those in flight get
`grace` seconds. Without a reader of its output it ends.

Sessions start when they are due, whatever became of those before (an open arrival process): each is one locust user, which
opens a connection for each of its runs and leaves. Latency counts from when a run was due. Of locust's statistics nothing
is used: its percentiles are rounded to two digits, and do not know when a run was due.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

NOT_INSTALLED = 3
"""Exit code without locust."""
MAX_BODY = 4 << 20
_AHEAD = 256  # sessions that are read before they are due
_LOOK, _SLACK = 0.02, 0.01  # seconds between two looks at our own pace, and what they may be late
_HEADERS = ("sluicegate-run-id", "sluicegate-fallback", "sluicegate-version")


@dataclass(slots=True, kw_only=True)
class Load:
    """The state of the process. Times are seconds since `began`.

    stalled: seconds in which this process did not run although it should have; woke: when it was last known to run.
    """

    timeout: float
    think_time: float
    max_in_flight: int
    grace: float
    began: float = 0.0
    in_flight: int = 0
    stopped: bool = False
    group: Any = None
    stalled: float = 0.0
    woke: float = 0.0

    def now(self) -> float:
        """Seconds since the first session may start."""
        return perf_counter() - self.began

    def stalls(self) -> float:
        """Seconds lost so far, with those of a stall that ends just now."""
        return self.stalled + max(0.0, self.now() - self.woke - _LOOK - _SLACK)


def tell(**line: Any) -> None:
    """A line for the parent. One that has left ends this process at once: nobody would stop it."""
    try:
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        os._exit(1)


def main() -> int:
    """Read, send, tell."""
    try:
        import locust as _  # noqa: F401 - patches this process before it opens anything
    except ModuleNotFoundError as error:
        tell(t="missing", module=error.name)
        return NOT_INSTALLED
    import gevent
    from gevent.fileobject import FileObjectThread
    from gevent.queue import Queue

    source = FileObjectThread(sys.stdin.buffer, "rb", close=False)
    load = Load(**json.loads(source.readline()))
    queue: Any = Queue(maxsize=_AHEAD)
    gevent.signal_handler(signal.SIGTERM, lambda: _stop(load, queue))
    gevent.spawn(_read, source, queue)
    start = _starter(load)
    pulse = gevent.spawn(_pulse, load)
    first = queue.get()
    load.began = perf_counter() + 0.05
    load.woke = load.now()
    gevent.spawn(_watch, load)
    tell(t="began")
    left = _send(load, first, queue, start)
    cut = _drain(load)
    pulse.kill()
    tell(t="end", at=load.now(), cut=cut, left=left)
    sys.stdout.flush()
    os._exit(0)  # the reader of standard input is a thread that nobody can interrupt


def _read(source: Any, queue: Any) -> None:
    for line in source:
        queue.put(json.loads(line))
    queue.put(None)


def _stop(load: Load, queue: Any) -> None:
    load.stopped = True
    if not queue.full():
        queue.put(None)


def _pulse(load: Load) -> None:
    """A sign of life, so that the parent can show it, and so that we notice when there is none."""
    import gevent

    while True:
        gevent.sleep(1.0)
        tell(t="pulse", at=load.now() if load.began else 0.0, flying=load.in_flight)


def _watch(load: Load) -> None:
    """Notice when this process is stopped or starved: what it measures then is its own delay, not the service's."""
    import gevent

    while True:
        gevent.sleep(_LOOK)
        load.stalled = load.stalls()
        load.woke = load.now()


def _send(load: Load, first: Any, queue: Any, start: Callable[[Any], None]) -> bool:
    """Start every session when it is due; whether some were left when we were stopped."""
    import gevent

    session = first
    while session is not None and not load.stopped:
        wait = session["at"] - load.now()
        while wait > 0 and not load.stopped:
            gevent.sleep(min(wait, 0.1))
            wait = session["at"] - load.now()
        if load.stopped:
            return True
        if load.in_flight >= load.max_in_flight:
            tell(t="unsent", n=session["n"], at=load.now())
        else:
            start(session)
        session = queue.get()
    return session is not None


def _drain(load: Load) -> int:
    """Wait for the sessions in flight; how many had to be cut off."""
    import gevent

    if not load.stopped:
        while load.in_flight and not load.stopped:
            gevent.sleep(0.02)
    if load.in_flight:
        load.group.join(timeout=load.grace)
    cut = load.in_flight
    load.group.kill(block=False)
    return cut


def _starter(load: Load) -> Callable[[Any], None]:
    """A function that starts a session as a locust user."""
    import logging
    from functools import cache

    import gevent
    from locust.env import Environment
    from locust.runners import LocalRunner

    logging.getLogger("locust").setLevel(logging.ERROR)
    user_class = _user_class(load, cache(gevent.ssl.create_default_context))
    environment = Environment(user_classes=[user_class], catch_exceptions=True)
    runner = LocalRunner(environment)
    events: Any = environment.events
    events.request.add_listener(lambda **facts: _told(load, **facts))
    load.group = runner.user_greenlets

    def start(session: Any) -> None:
        load.in_flight += 1
        user = user_class(environment)
        user.session = session
        user.start(runner.user_greenlets)

    return start


def _user_class(load: Load, tls: Callable[[], Any]) -> Any:
    from locust import FastHttpUser, task
    from locust.exception import StopUser

    class Caller(FastHttpUser):
        host = ""
        abstract = False
        insecure = False
        ssl_context_factory = staticmethod(tls)
        network_timeout = load.timeout
        connection_timeout = load.timeout
        concurrency = 1
        session: Any = None

        @task
        def talk(self) -> None:
            """All runs of the session, each due when the one before was answered and thought about."""
            session = self.session
            try:
                due = session["at"]
                for turn, run in enumerate(session["runs"]):
                    if turn:
                        due = _think(load)
                    _ask(load, self.client, run, {"n": session["n"], "k": turn, "due": due})
            finally:
                load.in_flight -= 1
            raise StopUser

    return Caller


def _think(load: Load) -> float:
    """Until the session's next run is due."""
    import gevent

    due = load.now() + load.think_time
    gevent.sleep(load.think_time)
    return due


def _ask(load: Load, client: Any, run: Any, context: dict[str, Any]) -> None:
    """One run, within `timeout` from when it is sent, whatever the generator stands still meanwhile (`stalled`)."""
    import gevent

    context |= {"sent": load.now(), "stalls": load.stalls()}
    try:
        with gevent.Timeout(load.timeout):
            client.post(
                run["url"],
                data=run["body"].encode(),
                headers=run["headers"],
                allow_redirects=False,
                context=context,
            )
    except gevent.Timeout as late:
        _told(load, response=None, exception=late, context=context)
    finally:
        client.client.clientpool.close()


def _told(load: Load, *, response: Any, exception: Any, context: dict[str, Any], **_: Any) -> None:
    """The request event of locust: a run has ended. A body that broke off is no answer, whatever its status."""
    ended, stalled = load.now(), load.stalls() - context.pop("stalls")
    status = getattr(response, "status_code", 0) or 0
    content = _content(response) if status else None
    answered = status if content is not None else 0
    tell(
        t="run",
        **context,
        ended=ended,
        stalled=stalled,
        status=answered,
        headers=dict(_kept(response.headers)) if answered else {},
        body=content.decode("utf-8", "replace") if content is not None and len(content) <= MAX_BODY else None,
        error=None if answered else _kind(exception),
        said=None if answered else str(getattr(exception, "original", exception))[:200],
    )


def _content(response: Any) -> bytes | None:
    from locust.contrib.fasthttp import FAILURE_EXCEPTIONS

    try:
        return response.content or b""
    except FAILURE_EXCEPTIONS:
        return None


def _kept(headers: Any) -> Iterator[tuple[str, str]]:
    for name in _HEADERS:
        value = headers.get(name)
        if value is not None:
            yield name, str(value)


def _kind(error: BaseException | None) -> str:
    """In the words of contracts.runs.Failure. The client keeps what really happened as `original`."""
    import gevent

    found = getattr(error, "original", error)
    if isinstance(found, gevent.Timeout | TimeoutError):
        return "Timeout"
    return "Unavailable" if isinstance(found, OSError) else "Fault"


if __name__ == "__main__":
    sys.exit(main())
