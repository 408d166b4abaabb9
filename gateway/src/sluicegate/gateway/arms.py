"""Which arm a unit is in: sticky, nested, exact.

The hash of (salt, key) is a 64-bit number u; a unit is inside a share n/d when u·d < n·2^64. Whole numbers only,
so that a unit never leaves a share that grows and no rounding decides.
"""

from dataclasses import dataclass
from hashlib import sha256

from sluicegate.contracts.routes import RoutePlan, Share, TrafficMode
from sluicegate.contracts.runs import Arm

_SPACE = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What happens to one run.

    serving: who answers. mirrored: the candidate runs on a copy. control: stable runs on one too. control_first: and
    goes first, by a coin, so that neither copy always meets what the other left warm or busy. observed: the run is
    evidence of the rollout's stage. unit: hash of the routing key, or the run id.
    """

    serving: Arm
    unit: str
    position: float = 0.0
    probability: float = 1.0
    observed: bool = False
    mirrored: bool = False
    control: bool = False
    control_first: bool = False
    session: bool = False


def hashed(salt: str, key: str) -> int:
    """The unit's place among 2^64."""
    return int.from_bytes(sha256(f"{salt}{key}".encode("utf-8", "surrogatepass")).digest()[:8], "big")


def is_inside(place: int, share: Share) -> bool:
    """Whether a place is inside a share. A larger share holds every place that a smaller one holds."""
    return place * share.denominator < share.numerator * _SPACE


def position(place: int) -> float:
    """A place as a number in [0, 1), rounded down to 53 bits so that it never becomes 1."""
    return (place >> 11) / (1 << 53)


def assign(plan: RoutePlan, run_id: str, key: str | None, *, leased: bool) -> Assignment:
    """The arms of a run. key: the routing key, None: every run is its own unit. leased: the plan's lease holds."""
    session = key is not None
    salt = plan.salt or f"{plan.namespace}/{plan.workflow}"
    digest = sha256(f"{salt}{key if session else run_id}".encode("utf-8", "surrogatepass")).digest()
    unit = digest[:16].hex() if session else run_id
    if plan.mode is TrafficMode.STABLE_ONLY or plan.candidate is None or not leased:
        return Assignment(serving=Arm.STABLE, unit=unit, session=session)
    place = int.from_bytes(digest[:8], "big")
    inside, share = is_inside(place, plan.share), float(plan.share)
    if plan.mode is TrafficMode.SPLIT:
        return Assignment(
            serving=Arm.CANDIDATE if inside else Arm.STABLE,
            unit=unit,
            position=position(place),
            probability=share if inside else 1.0 - share,
            observed=True,
            session=session,
        )
    control = inside and is_inside(hashed(f"{salt}control", key if key is not None else run_id), plan.control)
    return Assignment(
        serving=Arm.STABLE,
        unit=unit,
        position=position(place),
        observed=inside,
        mirrored=inside,
        control=control,
        control_first=control and digest[-1] % 2 == 1,
        session=session,
    )


def mirror_probability(plan: RoutePlan, arm: Arm) -> float:
    """Chance of a unit to have this mirrored arm."""
    share = float(plan.share)
    return share * float(plan.control) if arm is Arm.CONTROL else share
