"""How numbers of a rollout are written: shares, rates, milliseconds, samples."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from sluicegate.console.output import NONE
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal

_PLAIN = frozenset({Signal.REWARD, Signal.SHAPLEY_VARIANCE, Signal.DRIFT})


def share(fraction: Mapping[str, Any] | None) -> str:
    """A fraction as percent: `5 %`, `0.1 %`."""
    if not fraction:
        return NONE
    return percent(Decimal(int(fraction["numerator"])) / int(fraction.get("denominator", 100)))


def traffic(fraction: Mapping[str, Any] | None, stage: str | None) -> str:
    """The share of a stage: `5 % mirrored`, of which users see nothing, or `20 %` that the candidate answers."""
    mirrored = stage in {one.value for one in MIRRORED_STAGES} and fraction
    return f"{share(fraction)} mirrored" if mirrored else share(fraction)


def percent(value: float | Decimal) -> str:
    """A rate in percent: `5 %`."""
    return f"{_short(Decimal(value) * 100)} %"


def rate(signal: str, value: float | None) -> str:
    """A number of a finding, as `gate_number` writes it."""
    return gate_number({"signal": signal, "value": value}, "value")


def gate_number(gate: Mapping[str, Any], arm: str) -> str:
    """`candidate` or `stable` of a gate: percent for rates, plain for rewards and what is measured elsewhere, for latency the
    share of slow runs."""
    found = gate.get(arm)
    if found is None:
        return NONE
    try:
        value = Decimal(str(found))
    except InvalidOperation:
        return str(found)
    if not value.is_finite():
        return str(found)
    if gate["signal"] == Signal.EXTERNAL:
        return significant(str(value))
    if gate["signal"] in _PLAIN:
        return f"{value:.3f}"
    if gate["signal"] == Signal.P95_LATENCY:
        return f"{value:,.0f} ms" if value > 1 else f"{percent(value)} slow"
    return percent(value)


def need(have: int, wanted: int | None) -> str:
    """`412/1000`, or `412` when the need is not known."""
    return f"{have}/{wanted}" if wanted else str(have)


def significant(text: str) -> str:
    """A small number with three digits that count: `0.00294`."""
    return f"{float(text):.3g}"


def _short(value: Decimal) -> str:
    """At most two decimals, none that say nothing."""
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".")
