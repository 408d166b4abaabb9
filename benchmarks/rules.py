"""Decision tables: answers a second, and what a proof takes: `python -m benchmarks.rules [--readme]`.

CPU time of one thread, the best of several rounds. Beside it zen-engine (GoRules, Rust) on the same table as JDM, where `pip install zen-engine` was done.
"""

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.run import HERE, conditions, publish, section
from sluicegate.contracts.resources.fallback import RuleSetSpec
from sluicegate.fallback_rules.diff import diff
from sluicegate.fallback_rules.exchange.jdm import to_jdm
from sluicegate.fallback_rules.proof import prove
from sluicegate.fallback_rules.table import compile_table

ROUNDS = 7


def spec_of(intents: int, steps: int) -> RuleSetSpec:
    """Two rules for each intent and step of the amount: complete, without overlap, with other bounds for each intent."""
    rules: list[dict[str, Any]] = []
    for intent in range(intents):
        for step in range(steps):
            begins, ends = str(40 * step + intent), str(40 * step + 40 + intent)
            amount = ({"atLeast": begins} if step else {}) | ({"below": ends} if step < steps - 1 else {})
            for name, age in (("young", {"below": "30"}), ("old", {"atLeast": "30"})):
                when = {"intent": {"oneOf": [f"i{intent}"]}, "age": age} | (
                    {"amount": amount} if amount else {}
                )
                rules.append(
                    {
                        "id": f"r{intent}-{step}-{name}",
                        "when": when,
                        "answer": {"text": f"{intent} {step} {name}", "code": len(rules)},
                    }
                )
    columns = [
        {
            "name": "intent",
            "value": "input.intent",
            "type": "Enum",
            "values": [f"i{n}" for n in range(intents)],
        },
        {"name": "amount", "value": "input.amount", "type": "Number", "minimum": "0", "maximum": "100000"},
        {"name": "age", "value": "input.age", "type": "Integer", "minimum": "0", "maximum": "120"},
    ]
    contract = {"type": "object", "required": ["text", "code"], "properties": {"code": {"type": "integer"}}}
    return RuleSetSpec.model_validate(
        {"version": "1", "owner": "o", "columns": columns, "rules": rules, "contract": contract}
    )


SIZES = {8: (2, 2), 50: (5, 5), 500: (10, 25)}


def rules() -> dict[str, Any]:
    """All numbers."""
    found: dict[str, Any] = {}
    for size, shape in SIZES.items():
        spec = spec_of(*shape)
        assert len(spec.rules) == size
        table = compile_table(spec)
        last = {"intent": f"i{shape[0] - 1}", "amount": 99_999, "age": 40}
        assert table.decide(last).rule == spec.rules[-1].id
        found[f"{size} rules: answers a second, the last rule"] = round(
            1 / _seconds(partial(table.decide, last), 20_000)
        )
        if size == 8:
            run = {"input": last, "steps": {}, "run": {}}
            found["8 rules: answers a second, values taken from a run"] = round(
                1 / _seconds(partial(table.answer, run), 10_000)
            )
            found |= _zen(spec, last)
        found[f"{size} rules: compiled, ms"] = round(1e3 * _seconds(partial(compile_table, spec), 1), 2)
        found[f"{size} rules: proved, ms"] = round(1e3 * _seconds(partial(prove, table), 1), 2)
    proof = prove(table)
    assert proof.holds
    found["500 rules: cells of the grid"] = proof.cells
    edited = spec.model_copy(
        update={
            "rules": (
                spec.rules[0].model_copy(update={"answer": {"text": "other", "code": 1}}),
                *spec.rules[1:],
            )
        }
    )
    other = compile_table(edited)
    found["500 rules: compared with an edit, ms"] = round(1e3 * _seconds(lambda: diff(table, other), 1), 2)
    return found


def _zen(spec: RuleSetSpec, values: dict[str, Any]) -> dict[str, Any]:
    try:
        zen = importlib.import_module("zen")
    except ImportError:
        print(
            "SKIPPED: zen-engine is not installed (pip install zen-engine), so nothing stands beside our numbers",
            file=sys.stderr,
        )
        return {"8 rules: zen-engine, answers a second": "not installed"}
    decision = zen.ZenEngine().create_decision(to_jdm(spec, "t").content.decode())
    told = decision.evaluate({"input": values})
    assert told["result"] == spec.rules[-1].answer, told
    seconds = _seconds(lambda: decision.evaluate({"input": values}), 300)
    return {"8 rules: zen-engine, answers a second": round(1 / seconds)}


def _seconds(call: Callable[[], Any], times: int) -> float:
    """CPU time of one call, all threads of the process, in the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(times):
            call()
        best = min(best, (time.process_time() - start) / times)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure decision tables.")
    parser.add_argument(
        "--readme", action="store_true", help="put the latest tables into benchmarks/README.md"
    )
    options = parser.parse_args()
    where = conditions()
    (HERE / "results" / "rules.json").write_text(
        json.dumps({"conditions": where, "results": rules()}, indent=2) + "\n"
    )
    print(section("rules"))
    if options.readme:
        publish()


if __name__ == "__main__":
    main()
