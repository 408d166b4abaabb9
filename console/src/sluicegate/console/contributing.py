"""`rollout contributions`: from units with a coalition to tables of who adds what."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sluicegate.console import output
from sluicegate.console.client import Client, Object
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.evidence import AblatedUnits, Estimate
from sluicegate.contracts.runs import Arm, Game
from sluicegate.contracts.stages import Stage

if TYPE_CHECKING:
    from sluicegate.observability.contributions.estimate import Contribution, Contributions

CONFIDENCE = 0.95
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One game of one arm, estimated."""

    arm: Arm
    game: Game
    missing: int
    contributions: "Contributions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is known of one rollout's stage. absent: why nothing is known of the candidate's own game."""

    rollout: str
    stable: str
    candidate: str
    stage: Stage
    attempt: int
    games: tuple[Played, ...] = ()
    absent: str | None = None

    def of(self, arm: Arm) -> Played | None:
        """The game of an arm, where it was played."""
        return next((one for one in self.games if one.arm is arm), None)


def look(client: Client, rollout: Object, *, stage: Stage, attempt: int | None, regression: bool) -> Found:
    """Read the units with a coalition of the rollout and estimate. Raises Unavailable without numpy."""
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
        stable=rollout["spec"]["stable"]["version"],
        candidate=rollout["spec"]["candidate"]["version"],
        stage=stage,
        attempt=chosen,
        games=tuple(_played(item, regression=regression) for item in items),
    )
    own = found.of(Arm.ABLATED)
    return replace(found, absent=_why_none(found, rollout) if own is None else own.contributions.absent)


def _played(item: Object, *, regression: bool) -> Played:
    try:
        from sluicegate.observability.contributions.ablated import MOST_TABLED, cells_of
        from sluicegate.observability.contributions.estimate import Model, estimate, running
    except ModuleNotFoundError as error:
        raise Unavailable(f"contributions need {error.name}: pip install 'sluicegate[evidence]'") from error
    units = _units(item)
    alpha = 1.0 - CONFIDENCE
    if len(units.players) > MOST_TABLED:
        known = running(units, alpha=alpha)
    else:
        known = estimate(cells_of(units), Model.REGRESSION if regression else None, alpha=alpha)
    return Played(arm=units.arm, game=units.game, missing=units.missing, contributions=known)


def _units(item: Object) -> AblatedUnits:
    return AblatedUnits(
        players=tuple(item["players"]),
        cells=tuple((int(m), int(n), float(y), float(yy)) for m, n, y, yy in item["cells"]),
        missing=int(item["missing"]),
        arm=Arm(item.get("arm", Arm.ABLATED)),
        game=Game(item.get("game", Game.FALLBACK)),
        units=int(item.get("units", 0)),
        estimates=tuple(Estimate(str(c), float(v), float(e)) for c, v, e in item.get("estimates", ())),
    )


def _why_none(found: Found, rollout: Object) -> str:
    planned = {one["name"]: one for one in rollout["spec"].get("stages", ())}.get(found.stage.value)
    if planned is None:
        return f"the rollout has no stage {found.stage.value}"
    if not (planned.get("ablationShare") or {}).get("numerator"):
        return f"nothing is ablated in {found.stage.value}: its ablationShare is 0, or the workflow has no reward"
    return f"no run was ablated yet in attempt {found.attempt} of {found.stage.value}"


def document(found: Found) -> dict[str, Any]:
    """For -o json and yaml. Numbers are parts of the reward, in [−1, 1].

    `stable`, `versionGame`: the same of stable's components, and of the version game, where the stage plays them.
    """
    shown: dict[str, Any] = {
        "rollout": found.rollout,
        "candidate": found.candidate,
        "stage": found.stage.value,
        "attempt": found.attempt,
        "confidence": CONFIDENCE,
        **_game(found.of(Arm.ABLATED)),
    }
    others = {"stable": found.of(Arm.ABLATED_STABLE), "versionGame": found.of(Arm.MIXED)}
    shown |= {name: _game(one) for name, one in others.items() if one is not None}
    return shown | ({"absent": found.absent} if found.absent else {})


def _game(played: Played | None) -> dict[str, Any]:
    known = None if played is None else played.contributions
    spread = None if known is None else known.spread
    shown = {
        "game": (played.game if played else Game.FALLBACK).value,
        "units": known.units if known else 0,
        "missing": played.missing if played else 0,
        "method": known.method if known else None,
        "reward": known.reward if known else None,
        "rewardOfFallbacks": known.floor if known else None,
        "variance": None
        if spread is None
        else {"value": spread.value, "low": spread.low, "high": spread.high},
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
    if played is not None and played.game is Game.VERSION:
        shown["rewardOfStableVersions"] = shown.pop("rewardOfFallbacks")
    return shown | ({"absent": known.absent} if known is not None and known.absent else {})


def effect(one: "Contribution") -> str:
    """What the interval allows to say."""
    return "Adds" if one.low > _NOTHING else "TakesAway" if one.high < -_NOTHING else "NotShown"


_WORDS: Final = {"Adds": "adds", "TakesAway": "takes away", "NotShown": "not told from 0"}


def page(found: Found) -> str:
    """For people: the candidate's own game first, each table by size."""
    where = f"{found.stage.value}, attempt {found.attempt}"
    head = f"{found.rollout}: contributions to the reward of {found.candidate}, {where}"
    return "\n\n".join([f"{head}\n{_table(found.of(Arm.ABLATED), found.absent)}", *_beside(found)])


def _beside(found: Found) -> Iterator[str]:
    stable, mixed = found.of(Arm.ABLATED_STABLE), found.of(Arm.MIXED)
    if stable is not None:
        yield f"of {found.stable}, ablated alike\n{_table(stable, stable.contributions.absent)}"
    if mixed is not None:
        head = f"from {found.stable} to {found.candidate}: what each changed component does to the reward"
        yield f"{head}\n{_table(mixed, mixed.contributions.absent)}"


def _table(played: Played | None, absent: str | None) -> str:
    if played is None or absent is not None:
        hint = ""
        if played is not None and "coalitions have no run" in (absent or ""):
            hint = f" ({played.contributions.units} units so far; --regression estimates without them)"
        return f"none: {absent}{hint}"
    rows = [
        (one.component, f"{one.value:+.3f}", f"{one.low:+.3f} to {one.high:+.3f}", _WORDS[effect(one)])
        for one in sorted(played.contributions.each, key=lambda one: -one.value)
    ]
    table = output.table(("Component", "Contribution", f"{CONFIDENCE:.0%} interval", "Effect"), rows)
    return f"{table}\n{_foot(played)}"


def _foot(played: Played) -> str:
    known, parts = played.contributions, []
    if known.reward is not None and known.floor is not None:
        others = "in stable's versions" if played.game is Game.VERSION else "with their fallbacks"
        parts.append(f"reward with every component {known.reward:.3f}, {others} {known.floor:.3f}")
    if known.spread is not None and played.game is Game.FALLBACK:
        one = known.spread
        parts.append(f"variance of the contributions {one.value:.4f} ({one.low:.4f} to {one.high:.4f})")
    missing = f", {played.missing} without a reward" if played.missing else ""
    kind = "mixed" if played.game is Game.VERSION else "ablated"
    return "; ".join([*parts, f"{known.units} {kind} units{missing}", known.method])
