"""Decisions of the gates beside other judges: `python -m benchmarks.evidence [--measured N] [--tuning N] [--rows N] [--speed] [--readme]`.

One seeded run: candidate runs until a bad candidate is aborted, and healthy ones aborted, of four judges over eight kinds
of trouble; then the error rates of every gate; then what it costs (with --speed nothing else). Prints tables and writes
results/evidence.json and results/evidence_speed.json.
"""

import argparse
import json
import time
from typing import Any

from benchmarks import evidence_speed
from benchmarks.evidence_errors import measure
from benchmarks.evidence_judging import ALPHA, judge
from benchmarks.evidence_traffic import SCENARIOS
from benchmarks.run import HERE, conditions, publish, section

SEED = 5


def compare(tuning: int, measured: int) -> dict[str, dict[str, Any]]:
    """By scenario, by judge."""
    found = {}
    for number, scenario in enumerate(SCENARIOS):
        judges = judge(scenario, SEED + number, tuning, measured)
        found[scenario.name] = {
            name: None if figures is None else figures.to_json() for name, figures in judges.items()
        }
        print(f"{scenario.name}: {json.dumps(found[scenario.name], ensure_ascii=False)}", flush=True)
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tuning", type=int, default=200, help="healthy and bad rollouts to tune judges on")
    parser.add_argument("--measured", type=int, default=400, help="healthy and bad rollouts to measure on")
    parser.add_argument("--rows", type=int, default=1000, help="rollouts for each error rate of a gate")
    parser.add_argument("--speed", action="store_true", help="only what it costs; some minutes less")
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    facts = conditions() | {"pinned": False, "seed": SEED}
    if not options.speed:
        _write("evidence", facts, _decisions(options))
    _write("evidence_speed", facts, evidence_speed.measure())
    if options.readme:
        publish()


def _decisions(options: argparse.Namespace) -> dict[str, Any]:
    started = time.process_time()
    results = {
        "alpha": ALPHA,
        "tuning": options.tuning,
        "measured": options.measured,
        "rows": options.rows,
        "judges": compare(options.tuning, options.measured),
        "errors": measure(SEED, options.rows),
    }
    results["cpu_s"] = round(time.process_time() - started)
    return results


def _write(name: str, facts: dict[str, Any], results: dict[str, Any]) -> None:
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / f"{name}.json").write_text(
        json.dumps({"conditions": facts, "results": results}, indent=2, ensure_ascii=False) + "\n"
    )
    print(section(name))


if __name__ == "__main__":
    main()
