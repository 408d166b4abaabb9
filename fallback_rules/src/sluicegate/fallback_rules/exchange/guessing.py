"""Types of columns that another program does not name, from what its cells ask."""

import re
from typing import Any

from sluicegate.fallback_rules.exchange.notation import QUOTED

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNNAMED = re.compile(r"[^A-Za-z0-9_]+")


def guessed_columns(content: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Columns of a JDM table, and what of them was guessed."""
    columns: list[dict[str, Any]] = []
    notes: list[str] = []
    for one in content["inputs"]:
        if one.get("field") is None:
            continue
        texts = [row.get(one["id"]) or "" for row in content["rules"]]
        column = _column(one["field"], texts, taken={column["name"] for column in columns})
        columns.append(column)
        known = f" with the values {', '.join(column['values'])}" if "values" in column else ""
        notes.append(f"{column['name']} is taken for {column['type']}{known}: a guess from its cells")
    return columns, notes


def _column(field: str, texts: list[str], taken: set[str]) -> dict[str, Any]:
    name = _UNNAMED.sub("_", field.rpartition(".")[2]).strip("_") or "column"
    name = name if not name[0].isdigit() else f"column_{name}"
    while name in taken:
        name += "_"
    cells = [cell for text in texts if (cell := _read(text)) is not None]
    asked = [text for cell in cells for text in (*cell.one_of, cell.at_least, cell.below) if text is not None]
    value = field if field.split(".", maxsplit=1)[0] in {"input", "steps", "run"} else f"input.{field}"
    column: dict[str, Any] = {"name": name, "value": value, "type": _type(asked, texts)}
    if any(cell.absent for cell in cells):
        column["mayBeAbsent"] = True
    return column | ({"values": list(dict.fromkeys(asked))} if column["type"] == "Enum" else {})


def _read(text: str) -> Any:
    try:
        return QUOTED.read(text)
    except ValueError:
        return None  # the reading of the rule tells it


def _type(asked: list[str], texts: list[str]) -> str:
    quoted = any('"' in text and "date(" not in text for text in texts)
    if not asked or quoted:
        return "Enum"
    if all(text in {"true", "false"} for text in asked):
        return "Boolean"
    if all(_NUMBER.fullmatch(text) for text in asked):
        return "Number"
    return "Date" if all(_DATE.fullmatch(text) for text in asked) else "Enum"
