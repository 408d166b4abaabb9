"""Load on a real server, by the real generator."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sluicegate.console.loading import process
from sluicegate.console.loading.plan import arrivals
from sluicegate.console.loading.process import Generator
from sluicegate.console.loading.result import judged
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.sla import Measure
from sluicegate.contracts.stages import Verdict
from tests.console.loading.server import SERIAL_SECONDS, plan, scripts, serving, target, trial, tried

pytestmark = pytest.mark.alone
SETTINGS = {"timeout": 5.0, "think_time": 0.0, "max_in_flight": 10, "grace": 1.0}


def test_every_session_that_is_due_is_sent_and_the_warm_up_is_not_counted() -> None:
    of = plan(rate=100.0, duration=0.6, warm_up=0.2)
    sessions = scripts([{"turn": 1}, {"turn": 2}])
    with serving() as live:
        found = tried(f"{live.url}/good", of, sessions=sessions)
    expected = list(arrivals(of, sessions))
    warm = sum(one.is_warm_up for one in expected)
    assert (len(expected), warm) == (80, 20)  # every 10 ms in [0, 0.8)
    assert len(live.bodies) == 160
    assert (found.counts.warm_up, found.counts.sessions, found.counts.runs) == (20, 60, 120)
    assert found.counts.succeeded == 120
    assert found.ended_by == "Planned"
    assert {one.promise.measure: one.units for one in found.findings}[Measure.SUCCESS] == 60
    assert all(run.due <= run.sent <= run.ended for session in found.sessions for run in session.runs)


def test_latency_counts_from_when_a_run_was_due_so_that_a_queue_shows() -> None:
    """The k-th answer of a server that works alone for 40 ms cannot come before 40 (k + 1) ms; it was due at 10 k ms."""
    with serving() as live:
        found = tried(f"{live.url}/serial", plan(rate=100.0, duration=0.3))
    waited = sorted(run.latency_ms for session in found.sessions for run in session.runs)
    assert len(waited) == 30
    assert waited[-1] >= 1000 * (30 * SERIAL_SECONDS - 0.29)
    assert found.findings[0].rate is not None
    assert (
        found.findings[0].rate > 0.5
    )  # of 30 at most 5 are answered within 200 ms: 40 (k + 1) - 10 k <= 200


def test_a_generator_with_no_place_left_never_lets_anything_pass() -> None:
    with serving() as live:
        found = tried(f"{live.url}/serial", plan(rate=200.0, duration=1.0, max_in_flight=2))
    assert found.counts.unsent > 100
    assert not found.counts.kept_up
    assert Verdict.PASS not in {one.verdict for one in found.findings}
    assert judged(found).verdict is not Verdict.PASS


def test_what_went_wrong_is_told_by_its_kind() -> None:
    kinds = scripts(*([{"n": number}] for number in range(6)))
    with serving() as live:
        found = tried(f"{live.url}/kinds", plan(rate=200.0, duration=0.4, timeout=0.3), sessions=kinds)
        degraded = tried(f"{live.url}/degraded", plan(rate=100.0, duration=0.1))
    faults = " | ".join(sorted(found.counts.faults))
    for word in ("HTTP 503 (Unavailable)", "not JSON", "InvalidOutput: Required output/answer", "Timeout"):
        assert word in faults
    assert found.counts.succeeded == sum(body["n"] == 0 for body in live.bodies if "n" in body)
    assert (degraded.counts.succeeded, degraded.counts.fell_back) == (10, 10)


def test_it_ends_as_soon_as_all_is_decided() -> None:
    with serving() as live:
        sla = {
            "minSuccessRate": "0.9",
            "maxFallbackRate": "0.1",
        }  # no latency: how fast this machine is decides nothing
        found = tried(f"{live.url}/good", plan(rate=100.0, duration=60.0), full=False, sla=sla)
    assert found.ended_by == "Decided"
    assert {one.verdict for one in found.findings} == {Verdict.PASS}
    assert len(live.bodies) < 2000


def test_ctrl_c_gives_what_was_measured_so_far_and_leaves_no_process() -> None:
    with serving() as live:
        live.on_request = lambda number: os.kill(os.getpid(), signal.SIGINT) if number == 20 else None
        found = tried(f"{live.url}/good", plan(rate=100.0, duration=60.0))
    assert found.ended_by == "Interrupted"
    assert 0 < found.counts.sessions < 500
    assert not children()


def test_a_target_that_is_away_is_no_finding() -> None:
    with pytest.raises(Unavailable, match=r"nothing answers at http://127\.0\.0\.1:9/"):
        tried("http://127.0.0.1:9/good", plan())


def test_a_killed_generator_ends_the_test_without_a_verdict() -> None:
    def sessions() -> list[dict[str, object]]:
        return [{"n": 0, "at": 60.0, "runs": [target("http://127.0.0.1:9/").request({})]}]

    with Generator(SETTINGS, sessions()) as generator:
        lines = generator.lines()
        assert next(lines)["t"] in ("began", "pulse")
        os.kill(generator.pid, signal.SIGKILL)
        with pytest.raises(Unavailable, match="ended by signal 9"):
            list(lines)
    assert not children()


def test_without_locust_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locust.py").write_text("raise ModuleNotFoundError('no', name='locust')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Generator(SETTINGS, []) as generator, pytest.raises(Unavailable, match=r"sluicegate\[ci\]"):
        list(generator.lines())
    monkeypatch.setattr(process, "find_spec", lambda _name: None)
    with pytest.raises(Unavailable, match=r"pip install 'sluicegate\[ci\]'"):
        process.available()


def test_a_fault_while_inputs_are_made_is_not_lost() -> None:
    class BrokenError(Exception):
        pass

    def broken() -> object:
        raise BrokenError
        yield

    with Generator(SETTINGS, broken()) as generator, pytest.raises(BrokenError):  # type: ignore[arg-type]
        list(generator.lines())


def test_the_generator_is_never_in_this_process() -> None:
    asked = (
        "import sys; import sluicegate.console.commands.contract_sla, sluicegate.console.loading.asked, "
        "sluicegate.console.loading.measuring, sluicegate.console.loading.page; "
        "sys.exit({'locust', 'gevent'} & set(sys.modules) != set())"
    )
    assert subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0


def test_a_trial_can_be_described_while_it_runs() -> None:
    seen: list[str] = []
    from sluicegate.console.loading.showing import text

    with serving() as live:
        one = trial(
            f"{live.url}/good", plan(rate=50.0, duration=1.2), on_progress=lambda now: seen.append(text(now))
        )
        from sluicegate.console.loading.measuring import measure

        measure(one)
    assert seen
    assert "in flight" in seen[0]


def children() -> list[int]:
    """Processes of the driver that we are the parent of, also dead ones."""
    import psutil

    return [
        child.pid
        for child in psutil.Process().children()
        if "sluicegate.console.loading.driver" in " ".join(child.cmdline() or [])
    ]
