"""The table compares only with judges that hold the rate."""

import math
from typing import Any

from benchmarks import evidence_table
from benchmarks.run import table


def figures(runs: float, false_aborts: float = 0.03) -> dict[str, Any]:
    return {"runs": runs, "false_aborts": false_aborts, "caught": 1.0, "setting": ""}


def found() -> dict[str, Any]:
    others = dict.fromkeys(evidence_table.JUDGES, None)
    first = {**others, "gates": figures(100), "fixed, 95%": figures(80), "threshold, tuned": figures(400)}
    second = {
        **others,
        "gates": figures(300),
        "fixed, 95%": figures(200),
        "threshold, tuned": figures(50, 0.2),
    }
    errors = [{"gate": "Reward", "design": "paired", "false_aborts": 0.012, "false_promotions": 0.03}]
    sizes = {"alpha": 0.05, "tuning": 200, "measured": 400, "rows": 1000, "cpu_s": 1}
    return {**sizes, "judges": {"one": first, "two": second}, "errors": errors}


def test_a_judge_that_does_not_hold_the_rate_is_marked_and_not_compared() -> None:
    # By hand: 100/80 and 300/200, mean 1.375; 100/400, and none against 20 % of false alarms.
    shown = evidence_table.show(found(), table)
    rows = {line.split("|")[1].strip(): line for line in shown.splitlines() if line.startswith("|")}
    assert [cell.strip() for cell in rows["fixed, 95%"].split("|")[2:-1]] == ["1.38", "1.25, 1.50"]
    assert [cell.strip() for cell in rows["threshold, tuned"].split("|")[2:-1]] == ["0.25", "0.25, –"]
    assert "50; 20.0% ✗; 100%" in rows["two"]
    assert "✗" not in rows["one"]
    assert "1.2%" in rows["Reward"]


def test_the_tolerance_is_the_binomials() -> None:
    # Oracle: the sum of Binomial(400, 1/20).
    def at_most(count: int) -> float:
        return sum(math.comb(400, k) * 0.05**k * 0.95 ** (400 - k) for k in range(count + 1))

    most = round(400 * evidence_table.most(400, 0.05))
    assert at_most(most - 1) < 0.999 <= at_most(most)
