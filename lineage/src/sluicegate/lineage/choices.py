"""The outputs of a unit's runs as those of the unit."""

from collections.abc import Mapping, Sequence

from sluicegate.contracts.evidence import MOST_NUMBERS, MOST_VALUES, OTHER_VALUES


def merged_choices(parts: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Mean shares over the runs in which a component gave the field; beyond 32 values the rarest are one."""
    found: dict[str, dict[str, float]] = {}
    for field in sorted({field for part in parts for field in part}):
        having = [part[field] for part in parts if field in part]
        values = sorted({value for shares in having for value in shares})
        found[field] = _bounded(
            {value: sum(shares.get(value, 0.0) for shares in having) / len(having) for value in values}
        )
    return found


def _bounded(shares: dict[str, float]) -> dict[str, float]:
    if len(shares) <= MOST_VALUES:
        return shares
    common = sorted(shares, key=lambda value: (-shares[value], value))
    rest = sum(shares[value] for value in common[MOST_VALUES - 1 :])
    kept = {value: shares[value] for value in common[: MOST_VALUES - 1] if value != OTHER_VALUES}
    return kept | {
        OTHER_VALUES: rest + (shares[OTHER_VALUES] if OTHER_VALUES in common[: MOST_VALUES - 1] else 0.0)
    }


def merged_numbers(parts: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, tuple[float, ...]]:
    """The numbers of all runs, in their order, at most 64 of a field."""
    fields = sorted({field for part in parts for field in part})
    return {
        field: tuple(value for part in parts for value in part.get(field, ()))[:MOST_NUMBERS]
        for field in fields
    }
