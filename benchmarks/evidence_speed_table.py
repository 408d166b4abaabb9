"""The tables of what evidence costs."""

from collections.abc import Callable
from typing import Any


def show(found: dict[str, Any], table: Callable[[list[str], list[list[Any]]], str]) -> str:
    """Two tables."""
    aims = found["aims"]
    named = {
        "exact Shapley values of 12 components": ("shapley_12_ms", "ms"),
        "exact Shapley values of 20 components": ("shapley_20_ms", "ms"),
        "1,000 rollouts × 10 gates, from evidence to findings": ("evaluate_s", "s"),
        "the same from the saved state": ("read_and_evaluate_s", "s"),
    }
    values = [
        [name, f"{found[key]} {unit}", f"{aims[key]:g} {unit}" if key in aims else ""]
        for name, (key, unit) in named.items()
    ]
    rows = [[one["gate"], one["design"], one["update_us"], one["state_bytes"]] for one in found["folds"]]
    return "\n\n".join(
        (
            table(["CPU time of one thread", "", "aim"], values),
            f"Of each gate over {found['units']:,} units (aims: {aims['update_us']:g} µs, {aims['state_bytes']:g} bytes):",
            table(["gate", "design", "µs an update", "bytes of state"], rows),
        )
    )
