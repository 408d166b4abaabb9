"""Markdown of the reference pages."""

from collections.abc import Iterable, Sequence

NOTE = "<!-- Made by `python -m sluicegate.console.reference docs/reference`; do not edit. -->"


def page(title: str, *parts: str) -> str:
    """A whole page."""
    return "\n\n".join([f"# {title}", NOTE, *(part for part in parts if part)]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are on one line."""
    lines = [_row(head), "|" + "---|" * len(head), *(_row(row) for row in rows)]
    return "\n".join(lines)


def words(items: Iterable[str]) -> str:
    """`A`, `B`."""
    return ", ".join(f"`{item}`" for item in items)


def one_line(text: str | None) -> str:
    """Without line breaks."""
    return " ".join((text or "").split())


def _row(cells: Sequence[str]) -> str:
    escaped = (one_line(cell).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
