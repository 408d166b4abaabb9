"""Options that `plan` and `backtest` share: NAME=VALUE words as changes of a strategy, every problem at once."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

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

Sweep = Annotated[
    list[str] | None,
    typer.Option(
        "--margin",
        metavar="GATE=RATE[,RATE]",
        help="What if the margin of a gate were this one, or each of these (also STAGE/GATE=...); repeatable.",
        show_default=False,
    ),
]

Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw the gates' e-values over units: FILE.svg, FILE.png (need sluicegate[plots]), or - for the terminal.",
        show_default=False,
    ),
]


def sweep(words: Iterable[str]) -> list[list[str]]:
    """Every combination of `GATE=A,B` words, as lists of `GATE=RATE`."""
    each = [
        [f"{name}={value}" for value in text.split(",")]
        for name, _, text in (word.partition("=") for word in words)
    ]
    return [list(chosen) for chosen in product(*each)]


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
    named_shares = _read(
        "--share", shares, fraction, "STAGE=SHARE, such as Canary=1/50 or Canary=2%", problems
    )
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
        if name in found:
            problems.append(Problem(path=option, message=f"{name} is given twice", value=word))
        try:
            found[name] = value(text if name else "")
        except ValueError:
            problems.append(Problem(path=option, message="cannot be read", value=word, allowed=form))
    return found


def rate(text: str) -> str:
    """A margin as resources write it. Raises ValueError unless above 0 and below 1."""
    from pydantic import TypeAdapter

    from sluicegate.contracts.resources.base import Rate

    found: str = TypeAdapter(Rate).validate_python(text)
    if not 0.0 < float(found) < 1.0:
        raise ValueError(text)
    return found


def fraction(text: str) -> "Fraction":
    """`1/50`, `2%` or `0.02`. Raises ValueError unless above 0 and at most 1."""
    from fractions import Fraction as Exact

    from pydantic import ValidationError

    from sluicegate.contracts.resources.base import Fraction

    try:
        exact = Exact(text[:-1]) / 100 if text.endswith("%") else Exact(text)
    except ZeroDivisionError as error:
        raise ValueError(text) from error
    if exact <= 0:
        raise ValueError(text)
    try:
        return Fraction(numerator=exact.numerator, denominator=exact.denominator)
    except ValidationError as error:
        raise ValueError(text) from error
