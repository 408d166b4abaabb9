"""A table as rows of texts, for CSV and spreadsheets: what it is, its columns, its rules, its examples.

rules of sluicegate | 1
hitPolicy           | Unique
default             | {"text": "…"}
column              | amount | Number | input.amount | 0 | 1000 | | euros
rule | when intent    | when amount | answer text | because
a    | refund, track  | [50..100)   | Sorry       | cheaper
"""

import json
from collections.abc import Sequence
from typing import Any

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.resources.fallback import RuleSetSpec
from sluicegate.contracts.suggestions import shown
from sluicegate.fallback_rules.exchange import validated
from sluicegate.fallback_rules.exchange.notation import PLAIN, json_cell, read_json

Grid = list[list[str]]

_TITLE = "rules of sluicegate"
_TEXTS = {
    "version": "version",
    "owner": "owner",
    "description": "description",
    "hitPolicy": "hitPolicy",
    "changeReason": "changeReason",
}
_JSONS = ("default", "contract", "drill")
_EXAMPLE = "example"
_WHEN, _ANSWER, _FORMULA = "when ", "answer ", "answerFrom "
_MAX_ROWS = 4096


def grid_of(spec: RuleSetSpec) -> Grid:
    """Rows of texts, of different lengths."""
    data = spec.model_dump(mode="json", by_alias=True)
    head = [[_TITLE, "1"]]
    head += [[field, data[field]] for field in _TEXTS if data[field] is not None]
    head += [
        [field, json.dumps(data[field], ensure_ascii=False)] for field in _JSONS if data[field] is not None
    ]
    columns = [
        ["column", one.name, one.type, one.value, one.minimum or "", one.maximum or "",
         "mayBeAbsent" if one.may_be_absent else "", one.description or "", *map(json_cell, one.values)]
        for one in spec.columns
    ]  # fmt: skip
    examples = [
        [_EXAMPLE, one.name, json.dumps(one.input, ensure_ascii=False), one.rule or "", "" if one.answer is None else json.dumps(one.answer, ensure_ascii=False)]
        for one in spec.examples
    ]  # fmt: skip
    return [*head, *columns, *examples, *_rules(spec)]


def _is_flat(answer: Any) -> bool:
    return isinstance(answer, dict) and bool(answer) and all(key and key.strip() == key for key in answer)


def _rules(spec: RuleSetSpec) -> Grid:
    flat: list[dict[str, Any]] = [
        dict(rule.answer) if isinstance(rule.answer, dict) and _is_flat(rule.answer) else {}
        for rule in spec.rules
    ]
    fields = list(dict.fromkeys(key for answer in flat for key in answer))
    formulas = list(dict.fromkeys(key for rule in spec.rules for key in rule.answer_from))
    kinds = {column.name: column.type for column in spec.columns}
    optional = {
        "guard": [rule.guard or "" for rule in spec.rules],
        "priority": [str(rule.priority or "") for rule in spec.rules],
        "answer": [
            "" if rule.answer is None or _is_flat(rule.answer) else json.dumps(rule.answer, ensure_ascii=False) for rule in spec.rules
        ],
        "because": [rule.reason or "" for rule in spec.rules],
    }  # fmt: skip
    used = [name for name, texts in optional.items() if any(texts)]
    head = [
        "rule", *(_WHEN + name for name in kinds), *(_ANSWER + field for field in fields), *(_FORMULA + field for field in formulas), *used,
    ]  # fmt: skip
    rows = [
        [
            rule.id,
            *(PLAIN.cell(rule.when.get(name), kind) for name, kind in kinds.items()),
            *(json_cell(answer[field]) if field in answer else "" for field in fields),
            *(rule.answer_from.get(field, "") for field in formulas),
            *(optional[name][number] for name in used),
        ]
        for number, (rule, answer) in enumerate(zip(spec.rules, flat, strict=True))
    ]
    return [head, *rows]


def spec_of(grid: Sequence[Sequence[str]]) -> RuleSetSpec:
    """The table of such rows. Raises Refused with every row that cannot be read; paths are ``row 7, when amount``."""
    problems: list[Problem] = []
    if len(grid) > _MAX_ROWS:
        raise Refused((Problem(path="", message=f"has more than {_MAX_ROWS} rows", hint="split the table"),))
    data: dict[str, Any] = {"columns": [], "examples": [], "rules": []}
    head: list[str] | None = None
    for number, texts in enumerate(grid, start=1):
        row = [str(text) for text in texts]
        if not any(text.strip() for text in row):
            continue
        if head is not None:
            data["rules"].append(_read_rule(head, row, number, problems))
        elif row[0] == "rule":
            head = row
        else:
            _read_fact(data, row, number, problems)
    if head is None:
        problems.append(
            Problem(
                path="", message="has no row that begins with `rule`", hint="export a table to see the form"
            )
        )
    if problems:
        raise Refused(tuple(problems))
    return validated(data)


def _read_fact(data: dict[str, Any], row: list[str], number: int, problems: list[Problem]) -> None:
    name, rest = row[0], [*row[1:], "", "", "", "", "", "", ""]
    try:
        if name == "column":
            data["columns"].append(_column(rest))
        elif name == _EXAMPLE:
            example = {"name": rest[0], "input": json.loads(rest[1]), "rule": rest[2] or None}
            data["examples"].append(example | ({"answer": json.loads(rest[3])} if rest[3] else {}))
        elif name in _JSONS:
            data[name] = json.loads(rest[0])
        elif name in _TEXTS:
            data[name] = rest[0]
        elif name != _TITLE:
            problems.append(
                Problem(path=f"row {number}", message="is not known", value=shown(name), allowed=", ".join((*_TEXTS, *_JSONS, "column", _EXAMPLE, "rule")))
            )  # fmt: skip
    except ValueError as error:
        problems.append(
            Problem(
                path=f"row {number}",
                message=f"is not JSON: {error}",
                value=shown(rest[0]),
                hint="quote texts",
            )
        )


def _column(rest: list[str]) -> dict[str, Any]:
    name, kind, value, minimum, maximum, absent, description, *values = rest
    column: dict[str, Any] = {
        "name": name, "type": kind, "value": value, "minimum": minimum or None, "maximum": maximum or None,
        "mayBeAbsent": absent == "mayBeAbsent", "description": description or None,
    }  # fmt: skip
    return column | {
        "values": [told if isinstance(told := read_json(text), str) else text for text in values if text]
    }


def _read_rule(head: list[str], row: list[str], number: int, problems: list[Problem]) -> dict[str, Any]:
    rule: dict[str, Any] = {"when": {}, "answerFrom": {}}
    fields: dict[str, Any] = {}
    for name, text in zip(head, row, strict=False):
        if not text:
            continue
        try:
            if name.startswith(_WHEN):
                cell = PLAIN.read(text)
                if cell is not None:
                    rule["when"][name.removeprefix(_WHEN)] = cell
            elif name.startswith(_ANSWER):
                fields[name.removeprefix(_ANSWER)] = read_json(text)
            elif name.startswith(_FORMULA):
                rule["answerFrom"][name.removeprefix(_FORMULA)] = text
            else:
                rule |= _plain(name, text)
        except ValueError as error:
            problems.append(
                Problem(
                    path=f"row {number}, {name}",
                    message=f"cannot be read: {error}",
                    value=shown(text),
                    hint="refund, track or [50..100) or >= 50",
                )
            )
    return rule | ({"answer": fields} if fields else {})


def _plain(name: str, text: str) -> dict[str, Any]:
    known: dict[str, tuple[str, Any]] = {
        "rule": ("id", str), "guard": ("guard", str), "priority": ("priority", int), "answer": ("answer", json.loads), "because": ("reason", str),
    }  # fmt: skip
    if name not in known:
        raise ValueError(
            f"there is no column {name[:40]}; allowed: {', '.join((*known, _WHEN + '…', _ANSWER + '…'))}"
        )
    field, read = known[name]
    return {field: read(text)}
