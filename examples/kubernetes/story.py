"""Two rollouts on a cluster: people work with kubectl, users ask all the time, and every promise is checked."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.kubernetes import cluster
from examples.kubernetes.cluster import HERE, NAMESPACE, Json
from examples.kubernetes.product import Product
from examples.kubernetes.telling import Telling
from sluicegate.console import output
from sluicegate.console.demo import checks
from sluicegate.console.demo import text as words
from sluicegate.console.traffic import BackgroundTraffic
from sluicegate.contracts.adapters import system
from sluicegate.contracts.stages import Outcome
from tests.controlplane.plane import ControlPlane

ROLLOUT_SECONDS = 150.0
SOON_SECONDS = 45.0
AFTERMATH_RUNS = 50
IN_A_CLUSTER = "http://support-bot.shop.svc:9101"


@dataclass
class Story:
    """Where it plays."""

    plane: ControlPlane
    product: Product
    telling: Telling
    folder: Path
    components: str  # their URL

    def apply(self, file: str) -> None:
        """As the team; the components are on this machine, so their address is another one."""
        path = self.folder / file
        path.write_text((HERE / file).read_text().replace(IN_A_CLUSTER, self.components))
        self.telling.command("carol", f"kubectl apply -f {file}")
        said: list[str] = [""]

        def is_taken() -> bool:
            done = self.plane.kubectl("apply", "-f", str(path), user="carol", check=False)
            said[0] = done.stderr.strip()
            return done.returncode == 0

        self._soon("the change is taken", is_taken, lambda: said[0])

    def first(self) -> None:
        """Version 1 becomes stable without stages: there is nothing to compare it with."""
        self.apply("fallback.yaml")
        self.apply("workflow.yaml")
        self._soon("version 1.0.0 is stable and served", lambda: cluster.is_healthy(self.plane, "1.0.0"))

    def good(self, users: BackgroundTraffic) -> bool:
        """A better candidate; it needs alice's word before users meet it. Whether it became stable."""
        self.apply("good.yaml")
        held = self._until("2.0.0", lambda rollout: _awaits_approval(rollout) or _is_over(rollout))
        waits = held is not None and _awaits_approval(held)
        self.telling.check("after Shadow it waits for a second person", waits, _where(held))
        if waits and held is not None:
            self._approve(held)
            held = self._until("2.0.0", _is_over)
        return self._judge(held, Outcome.PROMOTED, users)

    def bad(self, users: BackgroundTraffic, killed: Callable[[], str]) -> None:
        """A worse one, while the leading operator is killed; traffic stays with the version before."""
        self.apply("bad.yaml")
        self._until("2.1.0", lambda rollout: bool(_state(rollout)))
        before = killed()
        self.telling.say(f"{before} led, and was killed (SIGKILL)")
        self._soon(
            "the other operator leads", lambda: self.product.leader() not in ("", before), self.product.leader
        )
        ended = self._until("2.1.0", _is_over)
        self._judge(ended, Outcome.ABORTED, users)
        self._is_back("2.0.0", users)

    def _approve(self, held: Json) -> None:
        item = cluster.approval(held, "agreed")
        self.telling.command("carol", "kubectl create -f approval.yaml")
        why = cluster.send(self.plane, item, "carol")
        self.telling.check("the author may not approve", "orbidden" in why, why or "it was taken")
        forged = cluster.approval(held, "forged")
        forged["spec"]["decidedBy"] = "bob"
        self.telling.command("alice", "kubectl create -f approval-as-bob.yaml")
        why = cluster.send(self.plane, forged, "alice")
        self.telling.check("nobody decides in another's name", why, "it was taken")
        self.telling.command("alice", "kubectl create -f approval.yaml")
        why = cluster.send(self.plane, item, "alice")
        self.telling.check("somebody else of the board may", not why, why)
        stored = self.plane.get("decision", "agreed", "-n", NAMESPACE, user="alice") if not why else {}
        by = stored.get("spec", {}).get("decidedBy")
        self.telling.check("the cluster noted whose word it was: alice", by == "alice", str(by))

    def _judge(self, rollout: Json | None, wanted: Outcome, users: BackgroundTraffic) -> bool:
        answers, found = list(users.tally.answers), rollout or {}
        output.echo(words.passage(found, answers))
        outcome = (found.get("status") or {}).get("outcome")
        self.telling.check(
            f"it ended {wanted}", outcome == wanted, f"{outcome or 'not ended'}; {_where(rollout)}"
        )
        early = checks.too_early(answers, checks.candidate_of(found), checks.opened_at(found))
        self.telling.check("no user met it before its time", not early, f"{len(early)} did")
        return bool(outcome == wanted)

    def _is_back(self, version: str, users: BackgroundTraffic) -> None:
        ended = system.now()
        tally = users.tally
        _wait(lambda: len(checks.since(tally.answers, ended)) >= AFTERMATH_RUNS, SOON_SECONDS)
        after = checks.since(tally.answers, ended)
        good = [answer for answer in after if answer.status == 200]
        others = [answer for answer in good if answer.version != version]
        self.telling.check(
            f"users are served by {version}",
            len(good) >= AFTERMATH_RUNS // 2 and not others,
            f"{len(others)} of {len(good)} were not",
        )

    def _until(self, version: str, condition: Callable[[Json], bool]) -> Json | None:
        """Follow the rollout and tell each state; what is seen at the end."""
        seen: list[Any] = [None, ""]

        def look() -> bool:
            self.product.processes.check()
            seen[0] = cluster.rollout(self.plane, version)
            state = _state(seen[0] or {})
            if state and state != seen[1]:
                seen[1] = state
                self.telling.say(f"{version} {output.word(state)}")
            return seen[0] is not None and condition(seen[0])

        _wait(look, ROLLOUT_SECONDS, pause=0.7)
        found: Json | None = seen[0]
        return found

    def _soon(self, promise: str, condition: Callable[[], bool], instead: Callable[[], str] = str) -> None:
        began = time.monotonic()
        is_kept = _wait(condition, SOON_SECONDS, pause=0.5)
        seconds = time.monotonic() - began
        self.telling.check(f"{promise} ({seconds:.0f} s)" if is_kept else promise, is_kept, instead())


def _state(rollout: Json) -> str:
    return str((rollout.get("status") or {}).get("state") or "")


def _is_over(rollout: Json) -> bool:
    return _state(rollout) == "Done"


def _awaits_approval(rollout: Json) -> bool:
    found = (rollout.get("status") or {}).get("conditions") or ()
    return any((c["type"], c["status"]) == ("AwaitingApproval", "True") for c in found)


def _where(rollout: Json | None) -> str:
    if rollout is None:
        return "there is no rollout"
    return f"{_state(rollout) or 'no state'}: {(rollout.get('status') or {}).get('message', '')}"


def _wait(condition: Callable[[], bool], seconds: float, pause: float = 0.2) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
