"""CSV and Excel. A text stays a text: what a spreadsheet would take for a formula is neither run nor believed."""

import csv
import io
import zipfile
from typing import Any

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.limits import MAX_BYTES
from sluicegate.contracts.resources.fallback import RuleSetSpec
from sluicegate.fallback_rules.exchange import Exported, Imported, refused
from sluicegate.fallback_rules.exchange.grid import Grid, grid_of, spec_of

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets take a CSV cell that begins so for a formula (OWASP, CSV injection)."""
_MARK = "'"
_MAX_UNPACKED = 32 * MAX_BYTES


def to_csv(spec: RuleSetSpec) -> Exported:
    """UTF-8 with a mark that makes spreadsheets read it as such. Cells that look like formulas get an apostrophe in front."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\r\n").writerows(
        [[_defused(text) for text in row] for row in grid_of(spec)]
    )
    return Exported(content=stream.getvalue().encode("utf-8-sig"))


def _defused(text: str) -> str:
    return _MARK + text if text.startswith((*_DANGEROUS, _MARK)) else text


def from_csv(content: bytes) -> Imported:
    """Raises Refused with every row that cannot be read."""
    try:
        text = _limited(content).decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise refused(f"is not CSV in UTF-8: {error}", "save it as `CSV UTF-8`") from None
    return Imported(spec=spec_of([[text.removeprefix(_MARK) for text in row] for row in rows]))


def _limited(content: bytes) -> bytes:
    if len(content) > MAX_BYTES:
        raise refused(f"has {len(content)} bytes, at most {MAX_BYTES} are read", "split the table")
    return content


def to_xlsx(spec: RuleSetSpec) -> Exported:
    """One sheet of texts. Needs the extra `excel`."""
    openpyxl = _openpyxl()
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "rules"
    for number, row in enumerate(grid_of(spec), start=1):
        for place, text in enumerate(row, start=1):
            cell = sheet.cell(row=number, column=place)
            try:
                cell.value = text
            except openpyxl.utils.exceptions.IllegalCharacterError:
                raise refused(
                    "a text holds a character that Excel cannot keep",
                    "remove control characters",
                    path=cell.coordinate,
                ) from None
            cell.data_type = "s"  # never a formula
            cell.number_format = "@"
    stream = io.BytesIO()
    book.save(stream)
    return Exported(content=stream.getvalue())


def from_xlsx(content: bytes) -> Imported:
    """The first sheet. Raises Refused for formulas and for every row that cannot be read."""
    openpyxl = _openpyxl()
    try:
        with zipfile.ZipFile(io.BytesIO(_limited(content))) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if unpacked <= _MAX_UNPACKED:
            book = openpyxl.load_workbook(io.BytesIO(content), data_only=False, keep_links=False)
    except Exception as error:  # noqa: BLE001 - openpyxl raises whatever its parsers raise
        raise refused(f"is not an Excel workbook: {type(error).__name__}", "save it as .xlsx") from None
    if unpacked > _MAX_UNPACKED:
        raise refused(f"unpacks to {unpacked} bytes, at most {_MAX_UNPACKED} are read", "split the table")
    problems: list[Problem] = []
    grid: Grid = [[_text(cell, problems) for cell in row] for row in book.worksheets[0].iter_rows()]
    if problems:
        raise Refused(tuple(problems))
    while grid and not any(grid[-1]):
        grid.pop()
    return Imported(spec=spec_of([_without_end(row) for row in grid]))


def _text(cell: Any, problems: list[Problem]) -> str:
    value = cell.value
    if cell.data_type == "f":
        problems.append(
            Problem(path=f"cell {cell.coordinate}", message="is a formula", value=str(value)[:80], hint="paste its value instead")
        )  # fmt: skip
        return ""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(int(value) if float(value).is_integer() else value)
    return value.date().isoformat() if hasattr(value, "date") else str(value)


def _without_end(row: list[str]) -> list[str]:
    while row and not row[-1]:
        row = row[:-1]
    return row or [""]


def _openpyxl() -> Any:
    try:
        import openpyxl  # type: ignore[import-untyped]  # noqa: PLC0415 - the extra `excel`
    except ImportError:
        raise refused("Excel needs another package", "pip install 'sluicegate[excel]'") from None
    return openpyxl
