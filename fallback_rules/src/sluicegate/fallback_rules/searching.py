"""What is wrong with the rows of a table taken together: by regions of the grid, or by boxes where there are too many of them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from sluicegate.contracts.digest import canonical
from sluicegate.contracts.resources.fallback import HitPolicy
from sluicegate.fallback_rules.axes import bits
from sluicegate.fallback_rules.rows import Row
from sluicegate.fallback_rules.space import (
    Box,
    Place,
    Region,
    Subtraction,
    TooLarge,
    common,
    corner,
    regions,
    row_boxes,
    whole,
)
from sluicegate.fallback_rules.table import Table

MAX_GAPS = 1000
"""Boxes without an answer that are counted."""
MAX_CUTS = 2_000_000
"""Comparisons of boxes before the search is given up."""
_ORDERED = (HitPolicy.FIRST, HitPolicy.PRIORITY)
_RIVALRY = (HitPolicy.UNIQUE, HitPolicy.ANY, HitPolicy.PRIORITY)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows, as bits of the order of answering, and a place where both hold."""

    first: int
    second: int
    place: Place


@dataclass(frozen=True, slots=True)
class Shadow:
    """A row that never answers, the rows that answer instead (as bits of a mask), and a place where it holds."""

    row: int
    by: int
    place: Place


@dataclass(slots=True, kw_only=True)
class Facts:
    """gaps: boxes apart from each other. redundant: rows, as a mask. regions: None when there were too many. undecided: whether
    the search was given up."""

    gaps: list[Box] = field(default_factory=list)
    gap_cells: int = 0
    pairs: list[Pair] = field(default_factory=list)
    shadows: list[Shadow] = field(default_factory=list)
    redundant: int = 0
    default_cells: int = 0
    regions: list[Region] | None = None
    undecided: bool = False


class Reading:
    """A table as its rows are compared: kinds are equal for rows that answer the same."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rows = table.ordered
        self.policy = table.spec.hit_policy
        self.all = (1 << len(self.rows)) - 1
        self.unguarded = self.all & ~table.guarded
        self.kinds = [kind_of(row) for row in self.rows]
        default = table.spec.default
        self.default_kind: Hashable = None if default is None else canonical(default)
        self.rivals = _rivals(self.rows, self.policy, self.kinds)

    def contenders(self, mask: int) -> int:
        """Of rows that hold in an order: those that may answer, up to the first without a guard."""
        sure = mask & self.unguarded
        return mask & (2 * (sure & -sure) - 1) if sure else mask

    def in_conflict(self, mask: int) -> int:
        """Of rows that hold: those that nothing of a higher priority keeps from answering."""
        sure = mask & self.unguarded
        if self.policy is not HitPolicy.PRIORITY or not sure:
            return mask
        priority = self.rows[(sure & -sure).bit_length() - 1].priority
        return sum(1 << bit for bit in bits(mask) if self.rows[bit].priority >= priority)


def kind_of(row: Row) -> Hashable:
    """Equal for rows whose answers are equal, or computed in the same way."""
    return tuple((name, compiled.text) for name, compiled in row.formulas) or canonical(row.answer)


def _rivals(rows: tuple[Row, ...], policy: HitPolicy, kinds: list[Hashable]) -> list[int]:
    """For each row those that must not hold with it."""
    everybody = (1 << len(rows)) - 1
    alike: dict[Hashable, int] = {}
    ranks: dict[int, int] = {}
    for bit, row in enumerate(rows):
        alike[kinds[bit]] = alike.get(kinds[bit], 0) | 1 << bit
        ranks[row.priority] = ranks.get(row.priority, 0) | 1 << bit
    of_policy: dict[HitPolicy, Callable[[int], int]] = {
        HitPolicy.UNIQUE: lambda bit: everybody ^ 1 << bit,
        HitPolicy.ANY: lambda bit: everybody & ~alike[kinds[bit]],
        HitPolicy.PRIORITY: lambda bit: ranks[rows[bit].priority] & ~alike[kinds[bit]],
    }
    rivals = of_policy.get(policy)
    return [rivals(bit) if rivals else 0 for bit in range(len(rows))]


def search(reading: Reading, *, limit: int) -> Facts:
    """By regions, or by boxes where there are more than `limit` of them; both give the same, but redundant rows are told by regions only."""
    try:
        found = regions(reading.table.axes, len(reading.rows), limit)
    except TooLarge:
        try:
            return by_boxes(reading, limit=MAX_CUTS)
        except TooLarge:
            return Facts(undecided=True)
    return by_regions(reading, found)


def by_regions(reading: Reading, found: list[Region]) -> Facts:
    """The facts, from all regions of the table."""
    facts = Facts(regions=found)
    seen = [0] * len(reading.rows)
    answering = kept = never = 0
    for region in found:
        if not region.mask & reading.unguarded:
            facts.gap_cells += region.cells
        if not region.mask:
            facts.default_cells += region.cells
        if reading.policy in _RIVALRY:
            _add_pairs(reading, region, seen, facts)
        answering |= reading.contenders(region.mask)
        kept |= _kept(reading, region.mask)
    if reading.policy in _ORDERED:
        never = reading.all & ~answering
        facts.shadows = [_shadow(bit, reading, found) for bit in bits(never)]
    facts.redundant = reading.all & ~kept & ~never
    if facts.gap_cells and reading.default_kind is None:
        facts.gaps = _gaps(reading, found)
    return facts


def _add_pairs(reading: Reading, region: Region, seen: list[int], facts: Facts) -> None:
    together = reading.in_conflict(region.mask)
    if not together & (together - 1):
        return
    for bit in bits(together):
        fresh = together & reading.rivals[bit] & ~seen[bit] & -(2 << bit)
        facts.pairs += [Pair(bit, other, region.place) for other in bits(fresh)]
        seen[bit] |= together


def _shadow(bit: int, reading: Reading, found: list[Region]) -> Shadow:
    holding = [region for region in found if region.mask >> bit & 1]
    by = 0
    for region in holding:
        sure = region.mask & reading.unguarded
        by |= sure & -sure
    return Shadow(bit, by, holding[0].place)


def _kept(reading: Reading, mask: int) -> int:
    """Rows whose absence might change the answer here."""
    if reading.policy is HitPolicy.COLLECT:
        return mask
    if reading.policy is HitPolicy.ANY:
        sure = mask & reading.unguarded
        alone = not mask & (mask - 1)
        if alone and mask and reading.kinds[mask.bit_length() - 1] == reading.default_kind:
            return 0
        return mask if not sure or alone else sure if not sure & (sure - 1) else 0
    kept = 0
    for bit in bits(reading.contenders(mask)):
        after = mask & -(2 << bit)
        following = (after & -after).bit_length() - 1
        if following < 0:
            is_same = reading.kinds[bit] == reading.default_kind
        else:
            is_same = (
                bool(reading.unguarded >> following & 1) and reading.kinds[bit] == reading.kinds[following]
            )
        kept |= 0 if is_same else 1 << bit
    return kept


def _gaps(reading: Reading, found: list[Region]) -> list[Box]:
    boxes = row_boxes(reading.table.axes, len(reading.rows))
    try:
        return Subtraction().uncovered(
            whole(reading.table.axes), [boxes[bit] for bit in bits(reading.unguarded)], MAX_GAPS
        )
    except TooLarge:
        places = [region.place for region in found if not region.mask & reading.unguarded]
        return [tuple(1 << piece for piece in place) for place in places[:MAX_GAPS]]


def by_boxes(reading: Reading, *, limit: int) -> Facts:
    """The same by subtraction of boxes. Raises TooLarge."""
    facts = Facts()
    axes = reading.table.axes
    boxes = row_boxes(axes, len(reading.rows))
    subtraction = Subtraction(limit)
    sure = bits(reading.unguarded)
    if reading.default_kind is None:
        facts.gaps = subtraction.uncovered(whole(axes), [boxes[bit] for bit in sure], MAX_GAPS)
    for bit, box in enumerate(boxes):
        for other in bits(reading.rivals[bit] & -(2 << bit)):
            both = common(box, boxes[other])
            if both is None:
                continue
            higher = [boxes[one] for one in sure if reading.rows[one].priority > reading.rows[bit].priority]
            left = subtraction.uncovered(both, higher, 1)
            facts.pairs += [Pair(bit, other, corner(part)) for part in left]
        if reading.policy in _ORDERED:
            before = [one for one in sure if one < bit and common(box, boxes[one]) is not None]
            if not subtraction.uncovered(box, [boxes[one] for one in before], 1):
                facts.shadows.append(Shadow(bit, sum(1 << one for one in before), corner(box)))
    return facts
