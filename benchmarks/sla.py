"""`sluicegate contract sla` on the support bot, again and again: does the good version pass every time, does the slow one fail?

    python -m benchmarks.sla [--repetitions 20] [--rate 30] [--readme]

Each repetition has its own seed. Components, `sluicegate up` and the load generator are real processes. Written to
results/sla.json; a verdict that is not the right one ends with exit code 1.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.run import HERE, conditions, publish, section
from sluicegate.console.demo import files
from sluicegate.console.demo.processes import Children, runs_url, until

RIGHT = {"good": "Pass", "slow-p95": "Fail"}


def main() -> int:
    """Measure, write, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--slow", type=int, default=5, help="repetitions with the slow version")
    parser.add_argument("--rate", type=float, default=30.0)
    parser.add_argument("--readme", action="store_true", help="put the table into benchmarks/README.md")
    options = parser.parse_args()
    facts = conditions() | {"pinned": False, "sessions_a_second": options.rate}
    tests = [
        one
        for name, number in (("good", options.repetitions), ("slow-p95", options.slow))
        for one in of_version(name, number, options.rate)
    ]
    results = {name: summary([one for one in tests if one["candidate"] == name]) for name in RIGHT}
    document = {"conditions": facts, "results": results, "tests": tests}
    (HERE / "results" / "sla.json").write_text(json.dumps(document, indent=1) + "\n")
    print(section("sla"))
    if options.readme:
        publish()
    return int(any(one["right"] != one["tests"] for one in results.values()))


def summary(tests: list[dict[str, Any]]) -> dict[str, Any]:
    """Of one version: how many verdicts were right, and how many sessions the slowest of them took."""
    right = sum(one["verdict"] == RIGHT[one["candidate"]] for one in tests)
    return {
        "tests": len(tests),
        "right": right,
        "sessions_median": statistics.median(one["sessions"] for one in tests) if tests else 0,
        "sessions_most": max((one["sessions"] for one in tests), default=0),
    }


def of_version(name: str, number: int, rate: float) -> list[dict[str, Any]]:
    """So many tests of one version, through its gateway."""
    with (
        tempfile.TemporaryDirectory(prefix="sluicegate-sla-") as folder,
        Children(Path(folder) / "logs") as children,
    ):
        root = Path(folder)
        base = children.services(files.support_bot() / "services.py", 1)
        file = root / "workflow.yaml"
        files.write(files.candidate(name, base), file)
        client = children.up(root / "state", "-f", str(file))
        url = runs_url(client, "support-bot")
        if not until(lambda: "support-bot" in ready(url), 30):
            raise RuntimeError(f"the gateway does not serve it\n{children.tail('up')}")
        return [tested(name, file, url, rate, seed) for seed in range(1, number + 1)]


def ready(url: str) -> str:
    """What the gateway says that it serves."""
    from sluicegate.console.direct import opened

    with opened(url.partition("/v1/")[0] + "/readyz", 5) as answer:
        return answer.read().decode()


def tested(name: str, file: Path, url: str, rate: float, seed: int) -> dict[str, Any]:
    """One command line, as a build would run it."""
    command = [
        sys.executable, "-m", "sluicegate.console.main", "contract", "sla", "-f", str(file), "--url", url, "--rate", str(rate),
        "--inputs", str(files.support_bot() / "inputs.jsonl"), "--warm-up", "2s", "--duration", "120s", "--seed", str(seed), "-o", "json",
    ]  # fmt: skip
    said = subprocess.run(command, capture_output=True, check=False, text=True)
    if said.returncode not in (0, 9):
        raise RuntimeError(f"exit code {said.returncode}\n{said.stderr}")
    record = json.loads(said.stdout)["subjects"][0]["facts"]["record"]
    shown = {
        one["measure"]: [
            one["verdict"],
            one["units"],
            one.get("rate"),
            one["low"],
            one["high"],
            one.get("decidedAt"),
        ]
        for one in record["findings"]
    }
    result = {
        "candidate": name,
        "seed": seed,
        "verdict": record["verdict"],
        "exit": said.returncode,
        "late": record["counted"]["late"],
        "sessions": record["counted"]["sessions"],
        **shown,
    }
    print(json.dumps(result), flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main())
