"""What commands print: tables, JSON, YAML, names; colour only on a terminal and never with NO_COLOR."""

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import IO, Any

import typer

NONE = "-"


class Format(StrEnum):
    """The value of -o."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


_GREEN, _YELLOW, _RED, _CYAN, _DIM, _BOLD = "32", "33", "31", "36", "2", "1"
_COLOURS = {
    _GREEN: ("Healthy", "Promoted", "FastPromoted", "Pass", "Succeeded", "Ok", "Applied", "Counted"),
    _CYAN: ("Progressing", "Canary", "Shadow", "Controlled", "Full", "Wait"),
    _YELLOW: (
        "Pending",
        "Paused",
        "Inconclusive",
        "Fallback",
        "Skipped",
        "Superseded",
        "Expired",
        "Draining",
    ),
    _RED: (
        "Degraded",
        "Aborted",
        "Fail",
        "Failed",
        "Error",
        "Rejected",
        "Refused",
        "RolledBack",
        "FastRolledBack",
    ),
}
_WORD_COLOUR = {word: colour for colour, words in _COLOURS.items() for word in words}


def echo(text: str = "") -> None:
    """A line to standard output."""
    typer.echo(text)


def note(text: str) -> None:
    """A line to standard error: what a script that reads the output must not see."""
    typer.echo(text, err=True)


def is_terminal(stream: IO[str] | None = None) -> bool:
    """Does a person look at it."""
    return (stream or sys.stdout).isatty()


def has_colour(stream: IO[str] | None = None) -> bool:
    """Colour is for terminals; NO_COLOR (no-color.org) and TERM=dumb switch it off."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """Heavier, where there is colour."""
    return _styled(text, _BOLD)


def dim(text: str) -> str:
    """Lighter, where there is colour."""
    return _styled(text, _DIM)


def word(text: str) -> str:
    """A phase, verdict or outcome in its colour."""
    colour = _WORD_COLOUR.get(text.split(" ", 1)[0].split("/", 1)[0])
    return _styled(text, colour) if colour else text


def severity(text: str) -> str:
    """Error, Warning or Info in lower case, in its colour."""
    colours = {"Error": _RED, "Warning": _YELLOW}
    return _styled(text.lower(), colours[text]) if text in colours else text.lower()


def plain(text: str) -> str:
    """Without colours, for files."""
    return re.sub("\033\\[[0-9;]*m", "", text)


def _styled(text: str, code: str) -> str:
    return f"\033[{code}m{text}\033[0m" if text and has_colour() else text


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns like kubectl's: upper-case heads, three spaces between, nothing cut."""
    lines = [[head.upper() for head in headers], *([cell or NONE for cell in row] for row in rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(headers))]
    return "\n".join(_row(line, widths, is_head=index == 0) for index, line in enumerate(lines))


def _row(cells: Sequence[str], widths: Sequence[int], *, is_head: bool) -> str:
    padded = [
        (bold(cell) if is_head else word(cell)) + " " * (width - _width(cell))
        for cell, width in zip(cells, widths, strict=True)
    ]
    return "   ".join(padded).rstrip()


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def as_json(value: object) -> str:
    """Indented, keys as they are."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def as_yaml(value: object) -> str:
    """Block style; long lines stay whole."""
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000).rstrip("\n")


def structured(value: object, format: Format) -> bool:
    """Print `value` if the format is a structured one; whether it was."""
    writers = {Format.JSON: as_json, Format.YAML: as_yaml}
    if format not in writers:
        return False
    echo(writers[format](value))
    return True


def moment(text: Any) -> datetime | None:
    """A time of an object, aware."""
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def age(text: Any, now: datetime) -> str:
    """How long ago, in the largest two units: 45s, 3m12s, 5h2m, 12d."""
    at = moment(text)
    return span((now - at).total_seconds()) if at else NONE


def span(seconds: float) -> str:
    """A duration in the largest two units."""
    whole = max(0, int(seconds))
    days, hours, minutes = whole // 86_400, whole % 86_400 // 3600, whole % 3600 // 60
    if days >= 10:
        return f"{days}d"
    for high, low, names in ((days, hours, "dh"), (hours, minutes, "hm"), (minutes, whole % 60, "ms")):
        if high:
            return f"{high}{names[0]}" + (f"{low}{names[1]}" if low else "")
    return f"{whole}s"


def plural(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def name_of(obj: Any) -> str:
    """`agentworkflow/support-bot`, as -o name prints it and `get` takes it."""
    return f"{str(obj['kind']).lower()}/{obj['metadata']['name']}"


def as_list(objects: Sequence[Any]) -> dict[str, Any]:
    """Several objects as one."""
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def stream_rows(heads: Sequence[str], row: Sequence[str], widths: list[int]) -> list[str]:
    """The lines to print for one more row of a growing table; `widths` is kept by the caller between rows."""
    lines = [] if widths else [[head.upper() for head in heads]]
    lines.append([cell or NONE for cell in row])
    wanted = [max(_width(line[column]) for line in lines) for column in range(len(heads))]
    widths[:] = [max(pair) for pair in zip(widths or wanted, wanted, strict=True)]
    return [_row(line, widths, is_head=len(lines) == 2 and index == 0) for index, line in enumerate(lines)]


def diff_line(line: str) -> str:
    """A line of a unified diff: red when it goes, green when it comes."""
    colours = {"+": _GREEN, "-": _RED, "@": _CYAN}
    code = colours.get(line[:1])
    return _styled(line, code) if code else line


def camel(value: Any) -> Any:
    """Keys in camelCase, as in every other JSON of ours; words of an enumeration as plain text, which YAML needs."""
    if isinstance(value, dict):
        return {_camel_word(key): camel(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [camel(item) for item in value]
    return value.value if isinstance(value, StrEnum) else value


def _camel_word(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(part.capitalize() for part in rest)
