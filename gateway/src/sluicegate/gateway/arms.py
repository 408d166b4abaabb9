"""Which arm a unit is in: sticky, nested, exact (contracts.routes: places and shares)."""

from dataclasses import dataclass

from sluicegate.contracts.routes import RoutePlan, TrafficMode, digest_of, place_of
from sluicegate.contracts.runs import Arm


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What happens to one run.

    serving: who answers. mirrored: the candidate runs on a copy. control: stable runs on one too. control_first: and
    goes first, by a coin, so that neither copy always meets what the other left warm or busy. ablation: seed of the
    coalition with which the candidate runs once more, last of all; empty: it does not. versions: the same of the coalition
    with which it runs with components in stable's version. observed: the run is evidence
    of the rollout's stage. unit: hash of the routing key, or the run id.
    """

    serving: Arm
    unit: str
    position: float = 0.0
    probability: float = 1.0
    observed: bool = False
    mirrored: bool = False
    control: bool = False
    control_first: bool = False
    ablation: bytes = b""
    versions: bytes = b""
    session: bool = False


def position(place: int) -> float:
    """A place as a number in [0, 1), rounded down to 53 bits so that it never becomes 1."""
    return (place >> 11) / (1 << 53)


def assign(plan: RoutePlan, run_id: str, key: str | None, *, leased: bool) -> Assignment:
    """The arms of a run. key: the routing key, None: every run is its own unit. leased: the plan's lease holds."""
    session = key is not None
    salt = plan.salt or f"{plan.namespace}/{plan.workflow}"
    digest = digest_of(salt, run_id if key is None else key)
    unit = digest[:16].hex() if session else run_id
    if plan.mode is TrafficMode.STABLE_ONLY or plan.candidate is None or not leased:
        return Assignment(serving=Arm.STABLE, unit=unit, session=session)
    place = int.from_bytes(digest[:8], "big")
    inside, share = plan.share.holds(place), float(plan.share)
    if plan.mode is TrafficMode.SPLIT:
        return Assignment(
            serving=Arm.CANDIDATE if inside else Arm.STABLE,
            unit=unit,
            position=position(place),
            probability=share if inside else 1.0 - share,
            observed=True,
            session=session,
        )
    name = run_id if key is None else key
    control = inside and plan.control.holds(place_of(f"{salt}control", name))
    ablated = inside and plan.ablation.holds(place_of(f"{salt}ablation", name))
    mixed = inside and plan.versions.holds(place_of(f"{salt}versions", name))
    return Assignment(
        serving=Arm.STABLE,
        unit=unit,
        position=position(place),
        observed=inside,
        mirrored=inside,
        control=control,
        control_first=control and digest[-1] % 2 == 1,
        ablation=digest_of(f"{salt}coalition", name) if ablated else b"",
        versions=digest_of(f"{salt}mixture", name) if mixed else b"",
        session=session,
    )


def mirror_probability(plan: RoutePlan, arm: Arm) -> float:
    """Chance of a unit to have this mirrored arm."""
    ablated = float(plan.ablation)
    parts = {
        Arm.CONTROL: float(plan.control),
        Arm.ABLATED: ablated,
        Arm.ABLATED_STABLE: ablated,
        Arm.MIXED: float(plan.versions),
    }
    return float(plan.share) * parts.get(arm, 1.0)
