"""Every benchmark once: `python -m benchmarks.run [NAME…] [--readme]`.

Prints tables and writes benchmarks/results/<name>.json with the conditions of the run. Speed is never asserted.
"""

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import comparison, evidence_speed_table, evidence_table, gateway, ingest, stack
from sluicegate.contracts.adapters import system

HERE = Path(__file__).parent
BENCHMARKS: dict[str, Callable[[], Any]] = {
    "latency": gateway.latency,
    "half_load": gateway.half_load,
    "throughput": gateway.throughput,
    "breakdown": gateway.breakdown,
    "comparison": comparison.comparison,
    "ingest": ingest.ingest,
}
_BEGIN, _END = "<!-- results: python -m benchmarks.run --readme -->", "<!-- end of results -->"


def conditions() -> dict[str, Any]:
    """What the numbers depend on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return {
        "at": system.now().isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "cpu": model,
        "cores": os.cpu_count(),
        "pinned": stack.pin(stack.GATEWAY_CORE) is not None,
        "load_1m_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "kernel": platform.release(),
    }


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table, aligned for the terminal too."""
    cells = [head, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def _latencies(found: dict[str, Any]) -> str:
    names = [name for name in ("direct", "gateway", "added", "nginx") if name in found]
    return table(
        ["", "p50 ms", "p99 ms"], [[name, found[name]["p50_ms"], found[name]["p99_ms"]] for name in names]
    )


def _half_load(found: dict[str, Any]) -> str:
    offered = (
        f"{found['offered_per_second']:.0f} runs/s offered (half of {found['capacity_per_second']:.0f}); "
        f"other processes took {found['core_taken_by_others']:.0%} of the gateway's core"
    )
    rows = [
        [name, found[name]["p50_ms"], found[name]["p99_ms"], found[name].get("median_p99_ms", "")]
        for name in ("direct", "gateway", "added")
    ]
    return f"{offered}\n\n{table(['', 'p50 ms', 'p99 ms, best window', 'p99 ms, median window'], rows)}"


def _throughput(found: dict[str, Any]) -> str:
    columns = {
        "best second": "per_second",
        "median second": "median_per_second",
        "p50 ms": "p50_ms",
        "p99 ms": "p99_ms",
        "CPU µs per run": "cpu_us_per_run",
        "spool bytes per run": "spool_bytes_per_run",
    }
    rows = [[name, *(row.get(key, "") for key in columns.values())] for name, row in found.items()]
    return table(["", *columns], rows)


def _pairs(found: dict[str, Any]) -> str:
    return table(["", "value"], [[name.replace("_", " "), value] for name, value in found.items()])


def _containment(found: dict[str, Any]) -> str:
    parts = {
        name: {key: value for key, value in part.items() if not isinstance(value, list)}
        for name, part in found.items()
    }
    return "\n\n".join(f"{name}:\n\n{_pairs(part)}" for name, part in parts.items())


def _sla(found: dict[str, Any]) -> str:
    columns = list(next(iter(found.values())))
    rows = [[name, *one.values()] for name, one in found.items()]
    return table(["version", *(column.replace("_", " ") for column in columns)], rows)


def _operator(found: list[dict[str, Any]]) -> str:
    keys = [key for key in found[0] if key not in {"calls_per_rollout", "workflows"}]
    rows = [[key.replace("_", " "), *(one.get(key, "") for one in found)] for key in keys]
    rows.append(["API calls per rollout", *(one["calls_per_rollout"]["all"] for one in found)])
    return table(["workflows", *(str(one["workflows"]) for one in found)], rows)


SHOWN: dict[str, tuple[str, Callable[[Any], str]]] = {
    "latency": ("Added latency, one connection, one step", _latencies),
    "half_load": ("Added latency, open loop at half of the capacity, one step", _half_load),
    "throughput": ("Runs per second of one worker on one core, 32 connections", _throughput),
    "breakdown": ("Where our part of a one-step run goes, µs", _pairs),
    "comparison": ("Comparison of a mirrored answer with the user's, one pair", _pairs),
    "ingest": ("Spool to SQLite", _pairs),
    "contract_checks": (
        "Static checks of a workflow of 1,000 steps (`python -m benchmarks.contract_checks`)",
        _pairs,
    ),
    "containment": ("Containment of schemas (`python -m benchmarks.containment`)", _containment),
    "rules": ("Decision tables of business fallback (`python -m benchmarks.rules`)", _pairs),
    "sla": ("Verdicts of an SLA test on the support bot (`python -m benchmarks.sla`)", _sla),
    "operator": ("The operator on a real control plane (`make bench-operator`)", _operator),
    "evidence": (
        "Decisions beside other judges (`make bench-evidence`)",
        lambda found: evidence_table.show(found, table),
    ),
    "evidence_speed": (
        "What evidence costs (`make bench-evidence`, or with `--speed` alone)",
        lambda found: evidence_speed_table.show(found, table),
    ),
}


def section(name: str) -> str:
    """The latest result of one benchmark, with its conditions."""
    stored = json.loads((HERE / "results" / f"{name}.json").read_text())
    title, show = SHOWN[name]
    where = ", ".join(f"{key} {value}" for key, value in stored["conditions"].items())
    return f"### {title}\n\n{show(stored['results'])}\n\n{where}"


def publish() -> None:
    """Put the latest tables into the README."""
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(_BEGIN)
    after = rest.partition(_END)[2]
    shown = [section(name) for name in SHOWN if (HERE / "results" / f"{name}.json").exists()]
    readme.write_text(f"{before}{_BEGIN}\n\n" + "\n\n".join(shown) + f"\n\n{_END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="which; default: all")
    parser.add_argument(
        "--readme", action="store_true", help="put the latest tables into benchmarks/README.md"
    )
    options = parser.parse_args()
    cores = os.sched_getaffinity(0)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    for name in options.names or BENCHMARKS:
        where = conditions()
        if stack.pin(stack.LOAD_CORE) is not None:
            os.sched_setaffinity(0, {stack.LOAD_CORE} if name != "ingest" else cores)
        found = gateway.run(BENCHMARKS[name])
        os.sched_setaffinity(0, cores)
        (results / f"{name}.json").write_text(
            json.dumps({"conditions": where, "results": found}, indent=2) + "\n"
        )
        print(f"\n{section(name)}", flush=True)
    if options.readme:
        publish()


if __name__ == "__main__":
    main()
