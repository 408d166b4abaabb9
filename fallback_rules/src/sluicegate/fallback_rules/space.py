"""The inputs of a table as a grid of pieces, and its regions: all pieces in which the same rows hold, told once.

Coordinate compression: a column's line is cut where cells begin and end, so within a piece nothing changes. Columns are
added one after another, and places with the same rows left are kept as one with their number; work and memory grow with
the number of different sets of rows, not with that of the inputs.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Any

from sluicegate.fallback_rules.axes import Axis, bits

MAX_STATES = 1_000_000
"""Places looked at before compression is given up for subtraction of boxes."""

Place = tuple[int, ...]
"""A piece of each axis."""


class TooLarge(Exception):  # noqa: N818 - an outcome of a search
    """More work than allowed."""


@dataclass(frozen=True, slots=True)
class Region:
    """Where exactly the rows of `mask` hold: how many cells of the grid, and one of them."""

    mask: int
    cells: int
    place: Place


def cells_of(axes: Sequence[Axis]) -> int:
    """Of the whole grid."""
    return prod(len(axis.pieces) for axis in axes)


def regions(axes: Sequence[Axis], rows: int, limit: int = MAX_STATES) -> list[Region]:
    """Every region of a table of so many rows. Raises TooLarge."""
    order = sorted(range(len(axes)), key=lambda index: len(set(axes[index].pieces)))
    states: dict[int, tuple[int, Any]] = {(1 << rows) - 1: (1, None)}
    work = 0
    for index in order:
        classes = _classes(axes[index])
        work += len(states) * len(classes)
        if work > limit:
            raise TooLarge
        following: dict[int, tuple[int, Any]] = {}
        for mask, (cells, trail) in states.items():
            for rows_of_class, (count, piece) in classes.items():
                left = mask & rows_of_class
                known = following.get(left)
                if known is None:
                    following[left] = (cells * count, (trail, piece))
                else:
                    following[left] = (known[0] + cells * count, known[1])
        states = following
    return [Region(mask, cells, _place(trail, order)) for mask, (cells, trail) in states.items()]


def _classes(axis: Axis) -> dict[int, tuple[int, int]]:
    """Rows that hold → in how many pieces, and the first of them."""
    classes: dict[int, tuple[int, int]] = {}
    for piece, mask in enumerate(axis.pieces):
        count, first = classes.get(mask, (0, piece))
        classes[mask] = (count + 1, first)
    return classes


def _place(trail: Any, order: list[int]) -> Place:
    place = [0] * len(order)
    for index in reversed(order):
        trail, place[index] = trail
    return tuple(place)


def values_at(axes: Sequence[Axis], place: Place) -> dict[str, Any]:
    """An input of a place: column → JSON value, None where absent."""
    return {axis.name: axis.value(piece) for axis, piece in zip(axes, place, strict=True)}


Box = tuple[int, ...]
"""Of each axis some pieces, as bits."""


def whole(axes: Sequence[Axis]) -> Box:
    """Every input."""
    return tuple((1 << len(axis.pieces)) - 1 for axis in axes)


def row_boxes(axes: Sequence[Axis], rows: int) -> list[Box]:
    """The inputs of each row."""
    boxes = [[0] * len(axes) for _ in range(rows)]
    for index, axis in enumerate(axes):
        for piece, mask in enumerate(axis.pieces):
            for row in bits(mask):
                boxes[row][index] |= 1 << piece
    return [tuple(box) for box in boxes]


def common(one: Box, other: Box) -> Box | None:
    """What both have, or None."""
    both = tuple(left & right for left, right in zip(one, other, strict=True))
    return both if all(both) else None


class Subtraction:
    """Subtraction of boxes, with a limit on the work of all questions together."""

    def __init__(self, limit: int = MAX_STATES) -> None:
        self._left = limit

    def uncovered(self, box: Box, covers: Sequence[Box], most: int) -> list[Box]:
        """At most `most` boxes, apart from each other, of what of `box` is in no cover. Raises TooLarge."""
        return list(islice(self._uncovered(box, covers), most))

    def _uncovered(self, box: Box, covers: Sequence[Box]) -> Iterator[Box]:
        stack = [(box, 0)]
        while stack:
            part, start = stack.pop()
            for number in range(start, len(covers)):
                self._left -= 1
                if self._left < 0:
                    raise TooLarge
                if common(part, covers[number]) is not None:
                    stack.extend((rest, number + 1) for rest in _apart(part, covers[number]))
                    break
            else:
                yield part


def _apart(box: Box, cover: Box) -> list[Box]:
    """The box without the cover, as boxes: one for each axis on which something is left."""
    parts = []
    rest = box
    for index, (pieces, taken) in enumerate(zip(box, cover, strict=True)):
        if pieces & ~taken:
            parts.append((*rest[:index], pieces & ~taken, *rest[index + 1 :]))
        rest = (*rest[:index], pieces & taken, *rest[index + 1 :])
    return parts


def corner(box: Box) -> Place:
    """The first place of a box."""
    return tuple((pieces & -pieces).bit_length() - 1 for pieces in box)


def size(box: Box) -> int:
    """In cells."""
    return prod(pieces.bit_count() for pieces in box)


def place_in(place: Place, box: Box) -> bool:
    """Whether the box has the place."""
    return all(pieces >> piece & 1 for piece, pieces in zip(place, box, strict=True))


class Diagram:
    """The table as a decision diagram over its columns: which inputs get which label, and which columns make a difference.

    label: of the rows that hold; None is not kept. Raises TooLarge.
    """

    def __init__(
        self, axes: Sequence[Axis], rows: int, label: Callable[[int], Hashable], limit: int = MAX_STATES
    ) -> None:
        self.matters: set[int] = set()
        """Columns, by their place, on which some label depends."""
        self._label = label
        self._left = limit
        self._classes = [_bits_of_classes(axis) for axis in axes]
        self._nodes: list[Any] = [None]
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._root = self._node(0, (1 << rows) - 1)

    def boxes(self, most: int) -> list[tuple[Box, Hashable]]:
        """At most so many boxes, apart from each other, each with its label."""
        return list(islice(self._boxes(self._root), most))

    def _node(self, level: int, mask: int) -> int:
        if level == len(self._classes):
            label = self._label(mask)
            return 0 if label is None else self._number((label,))
        known = self._known.get((level, mask))
        if known is not None:
            return known
        groups: dict[int, int] = {}
        for rows, pieces in self._classes[level].items():
            self._left -= 1
            if self._left < 0:
                raise TooLarge
            child = self._node(level + 1, mask & rows)
            groups[child] = groups.get(child, 0) | pieces
        if len(groups) > 1:
            self.matters.add(level)
        number = 0 if set(groups) == {0} else self._number((level, tuple(groups.items())))
        self._known[level, mask] = number
        return number

    def _number(self, node: tuple[Any, ...]) -> int:
        number = self._numbers.setdefault(node, len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(node)
        return number

    def _boxes(self, number: int) -> Iterator[tuple[Box, Hashable]]:
        node = self._nodes[number]
        if node is None:
            return
        if len(node) == 1:
            yield (), node[0]
            return
        for child, pieces in node[1]:
            for rest, label in self._boxes(child):
                yield (pieces, *rest), label


def _bits_of_classes(axis: Axis) -> dict[int, int]:
    """Rows that hold → in which pieces."""
    classes: dict[int, int] = {}
    for piece, mask in enumerate(axis.pieces):
        classes[mask] = classes.get(mask, 0) | 1 << piece
    return classes
