"""`sluicegate demo`: a good candidate is promoted, a bad one is aborted, live in the terminal."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from sluicegate.console import output
from sluicegate.console.client import ROLLOUTS, WORKFLOWS
from sluicegate.console.demo import checks as demo_checks
from sluicegate.console.demo import files as demo_files
from sluicegate.console.demo import text as demo_text
from sluicegate.console.demo.processes import Children, runs_url, until
from sluicegate.console.local import LocalClient
from sluicegate.contracts.errors import Problem, Refused, SluicegateError, Unavailable
from sluicegate.contracts.stages import Outcome

BAD = ("contract-break", "slow-p95", "more-fallbacks", "lower-reward", "crash")
NAME = "support-bot"
NAMESPACE = "default"
FIRST_SECONDS = 30.0
ROLLOUT_SECONDS = 180.0
AFTERMATH_RUNS = 50
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What `sluicegate demo` can be told.

    bad: which of BAD is tried after the good candidate. rate: new users per second. keep: leave everything
    running at the end until Ctrl-C. state_dir: None makes a temporary one, removed at the end.
    """

    bad: str = "more-fallbacks"
    rate: float = 30.0
    seed: int = 1
    keep: bool = False
    state_dir: Path | None = None


def run(options: DemoOptions) -> int:
    """Run the demo; 0 only if the good candidate was promoted, the bad one aborted, and users were safe."""
    if options.bad not in BAD:
        problem = Problem(
            path="--bad", message="no such candidate", value=options.bad, allowed=", ".join(BAD)
        )
        raise Refused((problem,))
    with (
        _folder(options.state_dir) as folder,
        _stoppable(),
        Children(folder.path / "demo-logs") as children,
    ):
        stage = _Stage(options, folder.path, children)
        with stage.traffic():
            truths = [stage.good(), stage.bad()]
            output.echo(demo_text.users(stage.tally))
            output.echo(demo_text.commands(stage.client, stage.witness, keep=options.keep))
            passed = all(truths)
            output.echo(demo_text.verdict(passed=passed))
            folder.keep = folder.keep or not passed
            if options.keep:
                _wait_for_ctrl_c()
    return 0 if passed else 1


class _Stage:
    """What is on the demo's stage: processes, users, and the two rollouts."""

    def __init__(self, options: DemoOptions, root: Path, children: Children) -> None:
        from sluicegate.console.traffic import BackgroundTraffic, support_customers

        self._options, self._root, self._children = options, root, children
        output.echo(demo_text.opening(root))
        self._base = children.services(demo_files.support_bot() / "services.py", options.seed)
        self.client: LocalClient = children.up(root)
        self._apply("fallback", demo_files.rules())
        self._apply("v1", demo_files.stable(self._base))
        self._wait_for_first()
        url = runs_url(self.client, NAME)
        self._users = BackgroundTraffic(
            url, support_customers(options.seed), rate=options.rate, seed=options.seed
        )
        self.tally = self._users.tally
        self.witness = ""

    @contextmanager
    def traffic(self) -> Iterator[None]:
        """Users come and ask while this lasts."""
        self._users.start()
        output.echo(demo_text.traffic(runs_url(self.client, NAME), self._options.rate))
        try:
            yield
        finally:
            self._users.stop()

    def good(self) -> bool:
        """Roll out the good candidate; whether it was promoted and no user met it too early."""
        document = demo_files.candidate("good", self._base)
        rollout = self._roll_out(
            "good", document, "a better candidate: it understands more customers and is faster"
        )
        return self._judge(rollout, Outcome.PROMOTED)

    def bad(self) -> bool:
        """Roll out the bad candidate on top of the good one; whether it was aborted and no user met it too early."""
        stable = demo_files.candidate("good", self._base)
        change = demo_files.candidate(self._options.bad, self._base)
        document = demo_files.on_top_of(stable, change, demo_files.stable(self._base))
        rollout = self._roll_out("bad", document, f"a bad candidate: {document['spec']['changeReason']}")
        safe = self._judge(rollout, Outcome.ABORTED)
        for gate in demo_checks.failed_gates(rollout):
            self.witness = self.witness or next(iter(gate.get("runs") or ()), "")
        return safe and self._is_back(stable["spec"]["version"])

    def _roll_out(self, name: str, document: dict[str, Any], what: str) -> dict[str, Any]:
        from sluicegate.console import live

        version = document["spec"]["version"]
        output.echo(demo_text.heading(version, what))
        self._apply(name, document)
        if not until(lambda: self._has_rollout(version), FIRST_SECONDS):
            raise Unavailable(f"no rollout of version {version} began\n{self._children.tail('up')}")
        ended = live.watch(self.client, NAMESPACE, NAME, timeout=ROLLOUT_SECONDS)
        self._children.check()
        if ended.timed_out or ended.snapshot.rollout is None:
            output.note(f"the rollout has not ended in {ROLLOUT_SECONDS:g} s\n{self._children.tail('up')}")
        return ended.snapshot.rollout or {}

    def _has_rollout(self, version: str) -> bool:
        """So that what is watched is never the rollout before."""
        found = self.client.listing(ROLLOUTS, NAMESPACE)
        return any(rollout["spec"]["candidate"]["version"] == version for rollout in found)

    def _judge(self, rollout: dict[str, Any], wanted: Outcome) -> bool:
        answers, version = list(self.tally.answers), demo_checks.candidate_of(rollout)
        early = demo_checks.too_early(answers, version, demo_checks.opened_at(rollout))
        served = any(answer.version == version for answer in answers)
        output.echo(demo_text.passage(rollout, answers))
        output.echo(demo_text.exposure(version, early, served=served))
        is_kept = demo_checks.is_kept(rollout, wanted, answers)
        if not is_kept:
            outcome = (rollout.get("status") or {}).get("outcome")
            output.note(f"error: expected {wanted} with no user in between, got {outcome or 'no outcome'}")
        return is_kept

    def _is_back(self, version: str) -> bool:
        """Wait for answers that were asked after the end; whether all of them came from `version`."""
        from sluicegate.contracts.adapters import system

        ended = system.now()
        enough = until(
            lambda: len(demo_checks.since(self.tally.answers, ended)) >= AFTERMATH_RUNS, FIRST_SECONDS
        )
        after = demo_checks.since(self.tally.answers, ended)
        others = [answer for answer in after if answer.status == 200 and answer.version != version]
        output.echo(demo_text.back(version, len(after), len(others)))
        return enough and not others

    def _apply(self, name: str, document: dict[str, Any]) -> None:
        path = self._root / f"{name}.yaml"
        demo_files.write(document, path)
        output.echo(demo_text.command(f"sluicegate apply -f {path}"))
        document["metadata"].setdefault("namespace", NAMESPACE)
        for applied in self.client.apply([document]):
            for warning in applied.warnings:
                output.note(f"  warning: {warning}")

    def _wait_for_first(self) -> None:
        """A first version becomes stable without stages."""

        def is_healthy() -> bool:
            workflow = self.client.get(WORKFLOWS, NAMESPACE, NAME)
            return bool((workflow.get("status") or {}).get("phase") == "Healthy")

        if not until(is_healthy, FIRST_SECONDS):
            raise Unavailable(f"version 1 did not become stable\n{self._children.tail('up')}")


@dataclass(slots=True)
class _Folder:
    """Where the demo keeps its state and logs."""

    path: Path
    keep: bool


@contextmanager
def _folder(chosen: Path | None) -> Iterator[_Folder]:
    """A chosen folder stays; a temporary one goes at the end, unless something failed."""
    if chosen is not None:
        if chosen.exists() and any(chosen.iterdir()):
            hint = "the demo starts with nothing; name a new folder"
            raise Refused(
                (Problem(path="--state-dir", message="is not empty", value=str(chosen), hint=hint),)
            )
        chosen.mkdir(parents=True, exist_ok=True)
        yield _Folder(chosen, keep=True)
        return
    folder = _Folder(Path(tempfile.mkdtemp(prefix="sluicegate-demo-")), keep=False)
    try:
        yield folder
    except SluicegateError:
        folder.keep = True
        raise
    finally:
        if folder.keep:
            output.note(f"state and logs are kept in {folder.path}")
        else:
            shutil.rmtree(folder.path, ignore_errors=True)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal all end the demo through every `finally`, even in the background."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_for_ctrl_c() -> None:
    try:
        Event().wait()
    except KeyboardInterrupt:
        output.echo("stopping")
