"""Containment of schemas on random pairs and on schemas made to hang it: `python -m benchmarks.containment [--pairs N] [--seed S] [--readme]`.

Writes results/containment.json. An answer is wrong when a value of the pool contradicts it, or its witness is none.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections import Counter
from typing import Any

from benchmarks import run, schema_bombs, schema_pairs
from sluicegate.contracts.containment import Verdict, closed, covers
from sluicegate.contracts.schemas import compile_schema

POOL = 500
CHUNK = 1_000
LIMIT_S = 60.0


def pairs(count: int, seed: int) -> dict[str, Any]:
    """Every second pair with the producer closed; a thousand at a time, on all cores."""
    chunks = [(min(CHUNK, count - first), seed, first) for first in range(0, count, CHUNK)]
    with multiprocessing.Pool() as workers:
        parts = workers.starmap(_chunk, chunks)
    told = sum((Counter(part["told"]) for part in parts), Counter())
    spent = sorted(seconds for part in parts for seconds in part["spent"])
    wrong = [pair for part in parts for pair in part["wrong"]]
    return {
        "pairs": count,
        "seed": seed,
        "pool": POOL,
        "compatible": told["Compatible"],
        "breaking": told["Breaking"],
        "unknown": told["Unknown"],
        "unknown_share": round(told["Unknown"] / count, 5),
        "unknown_with_counterexample_in_pool": told["shown unknown"],
        "wrong": len(wrong),
        "wrong_pairs": wrong[:10],
        "median_ms": round(spent[count // 2] * 1e3, 2),
        "p99_ms": round(spent[int(count * 0.99)] * 1e3, 1),
        "max_ms": round(spent[-1] * 1e3, 1),
    }


def _chunk(count: int, seed: int, first: int) -> dict[str, Any]:
    pool = schema_pairs.pool(POOL)
    told: Counter[str] = Counter()
    wrong: list[Any] = []
    spent: list[float] = []
    for number, (consumer, producer) in enumerate(schema_pairs.pairs(count, seed, first)):
        is_closed = number % 2 == 0
        start = time.process_time()
        found = covers(consumer, producer, is_closed=is_closed)
        spent.append(time.process_time() - start)
        told[found.verdict.value] += 1
        takes = compile_schema(consumer).is_valid
        meant = closed(producer) if is_closed else producer
        gives = [compile_schema(schema).is_valid for schema in (producer, meant)]
        if found.verdict is Verdict.BREAKING:
            is_wrong = takes(found.witness) or not gives[0](found.witness)
        else:
            is_shown = any(not takes(value) and all(test(value) for test in gives) for value in pool)
            is_wrong = found.verdict is Verdict.COMPATIBLE and is_shown
            told["shown unknown"] += found.verdict is Verdict.UNKNOWN and is_shown
        if is_wrong:
            wrong.append({"consumer": consumer, "producer": producer, "closed": is_closed})
    return {"told": dict(told), "wrong": wrong, "spent": spent}


def bombs() -> dict[str, Any]:
    """Each in a process of its own, which is ended after a minute."""
    found: list[dict[str, Any]] = []
    for name, consumer, producer in schema_bombs.bombs():
        queue: Any = multiprocessing.Queue()
        process = multiprocessing.Process(target=_ask, args=(queue, consumer, producer))
        process.start()
        process.join(LIMIT_S)
        hangs = process.is_alive()
        if hangs:
            process.kill()
        row = (
            {"name": name, "verdict": "hangs"} if hangs or process.exitcode else {"name": name, **queue.get()}
        )
        found.append(row)
        print(row, file=sys.stderr, flush=True)
    found.sort(key=lambda row: -row.get("seconds", LIMIT_S))
    return {
        "questions": len(found),
        "without_answer": sum("seconds" not in row for row in found),
        "max_seconds": max(row.get("seconds", LIMIT_S) for row in found),
        "max_mb": max(row.get("mb", 0) for row in found),
        "slowest": found[:8],
    }


def _ask(queue: Any, consumer: Any, producer: Any) -> None:
    start = time.perf_counter()
    verdict = covers(consumer, producer, is_closed=False).verdict
    seconds = round(time.perf_counter() - start, 3)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    queue.put({"verdict": verdict.value, "seconds": seconds, "mb": memory})


def main() -> None:
    parser = argparse.ArgumentParser(description="Containment of schemas.")
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bombs", action="store_true", help="only these, nothing is written")
    parser.add_argument(
        "--readme", action="store_true", help="put the latest tables into benchmarks/README.md"
    )
    options = parser.parse_args()
    if options.bombs:
        print(json.dumps(bombs(), indent=2))
        return
    where = run.conditions()
    found = {"random": pairs(options.pairs, options.seed), "adversarial": bombs()}
    stored = {"conditions": where, "results": found}
    (run.HERE / "results" / "containment.json").write_text(json.dumps(stored, indent=2) + "\n")
    print(run.section("containment"), flush=True)
    if options.readme:
        run.publish()


if __name__ == "__main__":
    main()
