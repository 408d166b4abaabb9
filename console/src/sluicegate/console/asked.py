"""What-if options of `plan` and `backtest`: NAME=VALUE words as changes of a strategy, every problem at once."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from pydantic import TypeAdapter, ValidationError

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.stages import Stage
from sluicegate.contracts.suggestions import listed

if TYPE_CHECKING:
    from sluicegate.contracts.resources.base import Fraction
    from sluicegate.rollout.whatif import Changes

T = TypeVar("T")

Margins = Annotated[
    list[str] | None,
    typer.Option(
        "--margin",
        metavar="GATE=RATE",
        help="What if the margin of a gate were this one (also STAGE/GATE=RATE); repeatable.",
        show_default=False,
    ),
]


def changes(
    margins: Iterable[str] | None = None,
    shares: Iterable[str] | None = None,
    without: Iterable[str] | None = None,
    traffic: int | None = None,
) -> "Changes":
    """The options together. Raises Refused with every word that cannot be read."""
    from sluicegate.rollout.whatif import Changes

    problems: list[Problem] = []
    named_margins = _read("--margin", margins, rate, "GATE=RATE, such as success=0.03", problems)
    named_shares = _read("--share", shares, fraction, "STAGE=SHARE, such as Canary=1/50 or Canary=2%", problems)
    stages = {}
    for name, share in named_shares.items():
        stage = next((one for one in Stage if one.value.lower() == name.lower()), None)
        if stage is None:
            problems.append(
                Problem(
                    path="--share",
                    message="no such stage",
                    value=name,
                    allowed=listed(s.value for s in Stage),
                )
            )
        else:
            stages[stage] = share
    if problems:
        raise Refused(tuple(problems))
    return Changes(margins=named_margins, shares=stages, left_out=frozenset(without or ()), traffic=traffic)


def _read(
    option: str, words: Iterable[str] | None, value: Callable[[str], T], form: str, problems: list[Problem]
) -> dict[str, T]:
    found: dict[str, T] = {}
    for word in words or ():
        name, _, text = word.partition("=")
        try:
            found[name] = value(text if name else "")
        except ValueError:
            problems.append(Problem(path=option, message="cannot be read", value=word, allowed=form))
    return found


def rate(text: str) -> str:
    """A margin as resources write it. Raises ValueError unless above 0 and below 1."""
    from sluicegate.contracts.resources.base import Rate

    found: str = TypeAdapter(Rate).validate_python(text)
    if not 0.0 < float(found) < 1.0:
        raise ValueError(text)
    return found


def fraction(text: str) -> "Fraction":
    """`1/50`, `2%` or `0.02`. Raises ValueError unless above 0 and at most 1."""
    from fractions import Fraction as Exact

    from sluicegate.contracts.resources.base import Fraction

    exact = Exact(text[:-1]) / 100 if text.endswith("%") else Exact(text)
    if exact <= 0:
        raise ValueError(text)
    try:
        return Fraction(numerator=exact.numerator, denominator=exact.denominator)
    except ValidationError as error:
        raise ValueError(text) from error
