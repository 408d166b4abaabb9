"""`sluicegate contract sla` on the support bot: the command, `sluicegate up`, the components and locust are real processes.

The promise is far from both: an answer takes some 50 ms (services.py), six in ten of the slow version more than 2.5 s. How fast this
machine is decides neither; where it is too busy to send a load when it is due, the command says so, and half of it is tried.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sluicegate.console import exits
from sluicegate.console.client import WORKFLOWS
from sluicegate.console.demo import files as demo_files
from sluicegate.console.demo.processes import Children, runs_url, until
from sluicegate.console.loading.judging import LEAST_UNITS
from sluicegate.console.local import LocalClient

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

PROMISED = "p95 at most 1000 ms"
SLA = {"maxLatencyMs": 1000, "minSuccessRate": "0.9", "maxFallbackRate": "0.15"}
TIMEOUT_MS = 6000  # of the slow part: it is late, and answers
RATES = (15, 8, 4)  # sessions a second; the next one where a load was not sent
PROGRAM = Path(__file__).with_name("slow_services.py")
VERSIONS = {"good": "good", "slow": "slow-p95"}  # workflow -> candidate of the example
ROW = re.compile(rf"{PROMISED} +(\w+) +(\d+) +([\d.]+) % slower +([\d.]+) % to ([\d.]+) %")


@dataclass(frozen=True)
class Trial:
    """What the command said: its exit code, all of its text, and the record that it wrote."""

    code: int
    text: str
    record: dict[str, Any]

    @property
    def row(self) -> tuple[str, int, float, float, float]:
        """Of the latency: verdict, sessions, share that was slower, and its interval, in percent."""
        found = ROW.search(self.text)
        assert found is not None, self.text
        verdict, sessions, *shares = found.groups()
        rate, low, high = map(float, shares)
        return verdict, int(sessions), rate, low, high


@dataclass(frozen=True)
class Bots:
    """Both versions, each as a workflow of its own of one `up`."""

    folder: Path
    client: LocalClient

    def file(self, name: str) -> Path:
        return self.folder / "workflows" / f"{name}.yaml"

    def evidence(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sluicegate.console.main", "contract", *words]
        return subprocess.run(command, capture_output=True, check=False, text=True)

    def tested(self, name: str) -> Trial:
        for rate in RATES:
            said = self.run(
                "sla", "-f", str(self.file(name)), "--url", runs_url(self.client, name), "--rate", str(rate), "--warm-up", "1s",
                "--max-runs", "600", "--inputs", str(demo_files.support_bot() / "inputs.jsonl"), "--evidence", str(self.evidence(name)),
            )  # fmt: skip
            record = json.loads(self.evidence(name).read_text())["record"]
            if record["reason"] != "LoadNotSent":
                break
        return Trial(said.returncode, said.stdout + said.stderr, record)


@pytest.fixture(scope="module")
def bots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bots]:
    folder = tmp_path_factory.mktemp("bots")
    with Children(folder / "logs") as children:
        base = children.services(PROGRAM, 1)
        (folder / "workflows").mkdir()
        for name, candidate in VERSIONS.items():
            demo_files.write(document(name, candidate, base), folder / "workflows" / f"{name}.yaml")
        demo_files.write(demo_files.rules(), folder / "workflows" / "rules.yaml")
        client = children.up(folder / "s", "-f", str(folder / "workflows"))
        assert until(lambda: serving(client) == len(VERSIONS), 60), children.tail("up")
        yield Bots(folder, client)


def document(name: str, candidate: str, base: str) -> dict[str, Any]:
    found = demo_files.moved(demo_files.candidate(candidate, base), base, name=name)
    found["spec"]["contract"]["sla"] = SLA
    [executor] = [one for one in found["spec"]["components"] if one["name"] == "executor"]
    executor["timeoutMs"] = TIMEOUT_MS
    return found


def serving(client: LocalClient) -> int:
    found = (item.get("status") or {} for item in client.listing(WORKFLOWS, "default"))
    return sum(one.get("phase") == "Healthy" for one in found)


def test_a_slow_version_fails_with_its_p95_the_number_of_sessions_and_an_interval(bots: Bots) -> None:
    said = bots.tested("slow")
    assert (said.code, said.record["reason"]) == (exits.FINDINGS, "PromiseBroken"), said.text
    verdict, sessions, rate, low, high = said.row
    assert verdict == "Fail"
    assert sessions == said.record["counted"]["sessions"] >= LEAST_UNITS
    assert 5.0 < low <= rate <= high, "at most 5 % may be slower: it lies outside of the interval"
    assert "error SlaBroken" in said.text
    assert (
        bots.run("verify-evidence", str(bots.evidence("slow")), "-f", str(bots.file("slow"))).returncode == 9
    )


def test_the_good_version_passes_and_its_evidence_is_taken(bots: Bots) -> None:
    said = bots.tested("good")
    assert (said.code, said.record["reason"]) == (exits.OK, "PromisesKept"), said.text
    verdict, sessions, rate, low, high = said.row
    assert verdict == "Pass"
    assert sessions >= LEAST_UNITS
    assert low <= rate <= high <= 5.0
    assert (
        bots.run("verify-evidence", str(bots.evidence("good")), "-f", str(bots.file("good"))).returncode == 0
    )
    other = bots.run("verify-evidence", str(bots.evidence("good")), "-f", str(bots.file("slow")))
    assert other.returncode == exits.REFUSED, "it is of another version"
