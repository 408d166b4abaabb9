"""The tables of the evidence benchmark."""

from collections.abc import Callable, Sequence
from typing import Any

from scipy import stats  # type: ignore[import-untyped]

Table = Callable[[list[str], list[list[Any]]], str]
JUDGES = (
    "gates",
    "Kayenta, its rules",
    "Kayenta, tuned",
    "threshold, its rules",
    "threshold, tuned",
    "fixed, 80%",
    "fixed, 95%",
)


def show(found: dict[str, Any], table: Table) -> str:
    """Both tables, the ratios between them."""
    allowed = most(found["measured"], found["alpha"])
    rows = [
        [name, *(_cell(judges[judge], allowed) for judge in JUDGES)]
        for name, judges in found["judges"].items()
    ]
    errors = [
        [one["gate"], one["design"], f"{one['false_aborts']:.1%}", f"{one['false_promotions']:.1%}"]
        for one in found["errors"]
    ]
    head = ["runs to abort a bad one; healthy aborted; bad aborted", *JUDGES]
    return "\n\n".join(
        (
            (
                f"α = {found['alpha']:.0%}; {found['measured']} healthy and {found['measured']} bad rollouts a row, judges tuned on "
                f"{found['tuning']} others of each; {found['cpu_s']} s of CPU time. ✗: more than {allowed:.1%} of the healthy ones aborted"
            ),
            table(head, rows),
            table(["runs of the gates, times those of", "mean", "each"], ratios(found, allowed)),
            f"Over 2,880 looks in 48 hours, {found['rows']} rollouts each, α = {found['alpha']:.0%}:",
            table(["gate", "design", "false aborts", "false promotions"], errors),
        )
    )


def most(count: int, alpha: float) -> float:
    """The share of false alarms that a judge exactly at its rate stays below in 999 of 1,000 such rows."""
    return float(stats.binom.ppf(0.999, count, alpha)) / count


def ratios(found: dict[str, Any], allowed: float) -> list[list[Any]]:
    """Runs of the gates by those of each other judge, where it holds the rate."""
    rows: list[list[Any]] = []
    for judge in JUDGES[1:]:
        pairs = [_ratio(judges["gates"], judges[judge], allowed) for judges in found["judges"].values()]
        known = [ratio for ratio in pairs if ratio is not None]
        rows.append([judge, _mean(known), ", ".join("–" if one is None else f"{one:.2f}" for one in pairs)])
    return rows


def _ratio(ours: dict[str, Any], other: dict[str, Any] | None, allowed: float) -> float | None:
    if other is None or other["false_aborts"] > allowed:
        return None
    return float(ours["runs"] / other["runs"])


def _mean(known: Sequence[float]) -> str:
    return f"{sum(known) / len(known):.2f}" if known else "–"


def _cell(figures: dict[str, Any] | None, allowed: float) -> str:
    if figures is None:
        return "—"
    mark = " ✗" if figures["false_aborts"] > allowed else ""
    return f"{figures['runs']:,.0f}; {figures['false_aborts']:.1%}{mark}; {figures['caught']:.0%}"
