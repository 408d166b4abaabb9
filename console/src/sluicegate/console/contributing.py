"""`rollout contributions`: from ablated units to a table of who adds what."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sluicegate.console import output
from sluicegate.console.client import Client, Object
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.evidence import AblatedUnits
from sluicegate.contracts.stages import Stage

if TYPE_CHECKING:
    from sluicegate.observability.contributions.estimate import Contribution, Contributions

CONFIDENCE = 0.95
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is known of one rollout's stage. absent: why nothing is."""

    rollout: str
    candidate: str
    stage: Stage
    attempt: int
    missing: int = 0
    contributions: "Contributions | None" = None
    absent: str | None = None


def look(client: Client, rollout: Object, *, stage: Stage, attempt: int | None, regression: bool) -> Found:
    """Read the ablated units of the rollout and estimate. Raises Unavailable without numpy."""
    state, metadata = rollout.get("status") or {}, rollout["metadata"]
    chosen = attempt or int(state.get("attempt", 1))
    query = {
        "namespace": metadata.get("namespace"),
        "rollout": metadata["uid"],
        "stage": stage.value,
        "attempt": str(chosen),
    }
    items = client.ablated(query)
    found = Found(
        rollout=metadata["name"],
        candidate=rollout["spec"]["candidate"]["version"],
        stage=stage,
        attempt=chosen,
    )
    return _estimated(found, items[0], regression=regression) if items else _without(found, rollout)


def _estimated(found: Found, item: Object, *, regression: bool) -> Found:
    try:
        from sluicegate.observability.contributions.ablated import cells_of
        from sluicegate.observability.contributions.estimate import Model, estimate
    except ModuleNotFoundError as error:
        raise Unavailable(f"contributions need {error.name}: pip install 'sluicegate[evidence]'") from error
    units = AblatedUnits(
        players=tuple(item["players"]),
        cells=tuple((int(m), int(n), float(y), float(yy)) for m, n, y, yy in item["cells"]),
        missing=int(item["missing"]),
    )
    result = estimate(cells_of(units), Model.REGRESSION if regression else None, alpha=1.0 - CONFIDENCE)
    return Found(
        rollout=found.rollout,
        candidate=found.candidate,
        stage=found.stage,
        attempt=found.attempt,
        missing=units.missing,
        contributions=result,
        absent=result.absent,
    )


def _without(found: Found, rollout: Object) -> Found:
    planned = {one["name"]: one for one in rollout["spec"].get("stages", ())}.get(found.stage.value)
    if planned is None:
        why = f"the rollout has no stage {found.stage.value}"
    elif not (planned.get("ablationShare") or {}).get("numerator"):
        why = f"nothing is ablated in {found.stage.value}: its ablationShare is 0, or the workflow has no reward"
    else:
        why = f"no run was ablated yet in attempt {found.attempt} of {found.stage.value}"
    return Found(
        rollout=found.rollout,
        candidate=found.candidate,
        stage=found.stage,
        attempt=found.attempt,
        absent=why,
    )


def document(found: Found) -> dict[str, Any]:
    """For -o json and yaml. Numbers are parts of the reward, in [−1, 1]."""
    known = found.contributions
    shown: dict[str, Any] = {
        "rollout": found.rollout,
        "candidate": found.candidate,
        "stage": found.stage.value,
        "attempt": found.attempt,
        "game": "Fallback",
        "confidence": CONFIDENCE,
        "units": known.units if known else 0,
        "missing": found.missing,
        "method": known.method if known else None,
        "reward": known.reward if known else None,
        "rewardOfFallbacks": known.floor if known else None,
        "contributions": [
            {
                "component": one.component,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "effect": effect(one),
            }
            for one in (known.each if known else ())
        ],
    }
    return shown | ({"absent": found.absent} if found.absent else {})


def effect(one: "Contribution") -> str:
    """What the interval allows to say."""
    return "Adds" if one.low > _NOTHING else "TakesAway" if one.high < -_NOTHING else "NotShown"


_WORDS = {"Adds": "adds", "TakesAway": "takes away", "NotShown": "not told from 0"}


def page(found: Found) -> str:
    """For people: largest first."""
    head = f"{found.rollout}: contributions to the reward of {found.candidate}, {found.stage.value}, attempt {found.attempt}"
    known = found.contributions
    if known is None or found.absent is not None:
        hint = ""
        if known is not None and "coalitions have no run" in (found.absent or ""):
            hint = f" ({known.units} units so far; --regression estimates without them)"
        return f"{head}\nnone: {found.absent}{hint}"
    rows = [
        (one.component, f"{one.value:+.3f}", f"{one.low:+.3f} to {one.high:+.3f}", _WORDS[effect(one)])
        for one in sorted(known.each, key=lambda one: -one.value)
    ]
    table = output.table(("Component", "Contribution", f"{CONFIDENCE:.0%} interval", "Effect"), rows)
    missing = f", {found.missing} without a reward" if found.missing else ""
    return (
        f"{head}\n{table}\nreward with every component {known.reward:.3f}, with their fallbacks {known.floor:.3f}; "
        f"{known.units} ablated units{missing}; {known.method}"
    )
