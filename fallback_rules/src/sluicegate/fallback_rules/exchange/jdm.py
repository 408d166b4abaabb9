"""JDM, the JSON of GoRules' editor: one decision table between an input and an output.

What JDM has no place for (types, domains, the contract, the hit policy beyond first and collect) travels in the table's
content under `x-sluicegate`, which editors keep or drop; without it types are guessed from the cells, and the notes say so.
"""

import json
from typing import Any

from sluicegate.contracts.json_text import json_value
from sluicegate.contracts.resources.fallback import HitPolicy, RuleColumn, RuleSetSpec, TableRule
from sluicegate.fallback_rules.exchange import Exported, Imported, refused, validated
from sluicegate.fallback_rules.exchange.guessing import guessed_columns
from sluicegate.fallback_rules.exchange.notation import QUOTED
from sluicegate.fallback_rules.table import compile_table

_OURS = "x-sluicegate"
_CONTENT_TYPE = "application/vnd.gorules.decision"
_WHOLE = "answer"
"""The output field of answers that are no objects."""
_GUARD = "guard"


def to_jdm(spec: RuleSetSpec, name: str) -> Exported:
    """The decision. Raises Refused when the table cannot be compiled."""
    table = compile_table(spec)
    notes = []
    if spec.hit_policy not in {HitPolicy.FIRST, HitPolicy.COLLECT}:
        notes.append(
            f"hit policy {spec.hit_policy} is written as first, with the rules in the order of answering"
        )
    if any(rule.guard or rule.answer_from for rule in spec.rules):
        notes.append("guards and computed answers are CEL, which the editor reads as its own language")
    rules = [spec.rules[row.number] for row in table.ordered]
    content = _table(spec, rules)
    if spec.default is not None and spec.hit_policy is HitPolicy.COLLECT:
        notes.append("the default is not part of the table: JDM has none with collect")
    return Exported(
        content=(json.dumps(_decision(content, name), indent=2, ensure_ascii=False) + "\n").encode(),
        notes=tuple(notes),
    )


def _decision(content: dict[str, Any], name: str) -> dict[str, Any]:
    nodes: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
        ("input", "inputNode", "request", {}),
        ("rules", "decisionTableNode", name, content),
        ("output", "outputNode", "response", {}),
    )
    return {
        "contentType": _CONTENT_TYPE,
        "nodes": [
            {
                "id": identity,
                "type": kind,
                "name": title,
                "position": {"x": 100 + 350 * place, "y": 100},
                "content": inside,
            }
            for place, (identity, kind, title, inside) in enumerate(nodes)
        ],
        "edges": [
            {"id": f"{one}-{other}", "sourceId": one, "targetId": other, "type": "edge"}
            for one, other in (("input", "rules"), ("rules", "output"))
        ],
    }


def _table(spec: RuleSetSpec, rules: list[TableRule]) -> dict[str, Any]:
    fields = list(dict.fromkeys(field for rule in rules for field in _outputs(rule)))
    if spec.default is not None:
        fields = list(dict.fromkeys((*fields, *_written(spec.default))))
    inputs = [
        {"id": f"in-{column.name}", "name": column.description or column.name, "field": column.value}
        for column in spec.columns
    ]
    if any(rule.guard for rule in rules):
        inputs.append({"id": _GUARD, "name": "guard"})
    rows = [_row(spec.columns, rule) for rule in rules]
    if spec.default is not None and spec.hit_policy is not HitPolicy.COLLECT:
        rows.append(
            {
                "_id": _default_id(spec),
                "_description": "no rule holds",
                **{f"out-{key}": text for key, text in _written(spec.default).items()},
            }
        )
    cells = [*(one["id"] for one in inputs), *(f"out-{field}" for field in fields)]
    return {
        "hitPolicy": "collect" if spec.hit_policy is HitPolicy.COLLECT else "first",
        "inputs": inputs,
        "outputs": [{"id": f"out-{field}", "name": field, "field": field} for field in fields],
        "rules": [{**dict.fromkeys(cells, ""), **row} for row in rows],
        "passThrough": False, "inputField": None, "outputPath": None, "executionMode": "single",
        _OURS: _ours(spec),
    }  # fmt: skip


def _ours(spec: RuleSetSpec) -> dict[str, Any]:
    data = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"rules"})
    whole = [rule.id for rule in spec.rules if rule.answer is not None and not _is_flat(rule.answer)]
    has_default = spec.default is not None and spec.hit_policy is not HitPolicy.COLLECT
    if has_default and not _is_flat(spec.default):
        whole.append(_default_id(spec))
    formulas = [rule.id for rule in spec.rules if rule.answer_from]
    ranks = {rule.id: rule.priority for rule in spec.rules if rule.priority}
    return data | {
        "order": [rule.id for rule in spec.rules],
        "whole": whole,
        "computed": formulas,
        "priorities": ranks,
        "defaultRow": _default_id(spec) if has_default else None,
    }


_OUR_KEYS = frozenset({"order", "whole", "computed", "priorities", "defaultRow"})


def _default_id(spec: RuleSetSpec) -> str:
    """Of the row that stands for the default: no rule's."""
    ids = {rule.id for rule in spec.rules}
    return next(name for number in range(len(ids) + 1) if (name := f"default-{number}") not in ids)


def _is_flat(answer: Any) -> bool:
    return isinstance(answer, dict) and bool(answer)


def _written(answer: Any) -> dict[str, str]:
    flat = answer if _is_flat(answer) else {_WHOLE: answer}
    return {field: json.dumps(value, ensure_ascii=False) for field, value in flat.items()}


def _outputs(rule: TableRule) -> dict[str, str]:
    return rule.answer_from or _written(rule.answer)


def _row(columns: tuple[RuleColumn, ...], rule: TableRule) -> dict[str, str]:
    cells = {f"in-{column.name}": QUOTED.cell(rule.when.get(column.name), column.type) for column in columns}
    outputs = {f"out-{field}": text for field, text in _outputs(rule).items()}
    return {"_id": rule.id, "_description": rule.reason or "", _GUARD: rule.guard or "", **cells, **outputs}


def from_jdm(content: bytes) -> Imported:
    """The only decision table of a decision. Raises Refused with what cannot be read."""
    try:
        decision = json_value(content.decode("utf-8-sig"), "-")
    except ValueError as error:
        raise refused(f"is not JSON: {error}", "export the decision as JSON") from None
    nodes = decision.get("nodes") if isinstance(decision, dict) else None
    tables = [
        node["content"]
        for node in (nodes if isinstance(nodes, list) else [])
        if isinstance(node, dict)
        and node.get("type") == "decisionTableNode"
        and isinstance(node.get("content"), dict)
    ]
    if len(tables) != 1:
        raise refused(
            f"has {len(tables)} decision tables", "a rule set is one table: export it alone", path="nodes"
        )
    try:
        return _imported(tables[0])
    except (KeyError, TypeError, AttributeError) as error:
        raise refused(
            f"is not a decision table of JDM: {error}", "export it from the editor again", path="nodes"
        ) from None


def _imported(content: dict[str, Any]) -> Imported:
    ours = content.get(_OURS)
    notes: list[str] = []
    if not isinstance(ours, dict):
        ours, notes = _guessed(content)
    kept = {key: value for key, value in ours.items() if key not in _OUR_KEYS}
    named = [one["id"] for one in content["inputs"] if one.get("field") is not None]
    names = dict(zip(named, (column["name"] for column in kept["columns"]), strict=False))
    rules = []
    for row in content["rules"]:
        rule = _rule(row, content, names, ours)
        if rule["id"] == ours.get("defaultRow"):
            kept["default"] = rule["answer"]
        else:
            rules.append(rule)
    order = {rule: place for place, rule in enumerate(ours.get("order", ()))}
    rules.sort(key=lambda rule: order.get(rule["id"], len(order)))
    return Imported(spec=validated(kept | {"rules": rules}), notes=tuple(notes))


def _rule(
    row: dict[str, str], content: dict[str, Any], names: dict[str, str], ours: dict[str, Any]
) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": row["_id"], "when": {}, "reason": row.get("_description") or None}
    for one in content["inputs"]:
        text = row.get(one["id"]) or ""
        if one.get("field") is None:
            rule["guard"] = text.strip() or None
            continue
        try:
            cell = QUOTED.read(text)
        except ValueError as error:
            raise refused(
                f"cannot be read: {error}",
                'write "a", "b" or [1..5) or >= 1',
                path=f"rule {row['_id']}, {one['name']}",
            ) from None
        if cell is not None:
            rule["when"][names[one["id"]]] = cell
    outputs = {one["field"]: text for one in content["outputs"] if (text := row.get(one["id"]) or "").strip()}
    if row["_id"] in ours.get("computed", ()):
        return rule | {"answerFrom": outputs, "priority": ours["priorities"].get(row["_id"], 0)}
    try:
        answer = {field: json.loads(text) for field, text in outputs.items()}
    except ValueError as error:
        raise refused(
            f"has an output that is no JSON value: {error}",
            "write values, not expressions",
            path=f"rule {row['_id']}",
        ) from None
    whole = answer[_WHOLE] if row["_id"] in ours.get("whole", ()) else answer
    return rule | {"answer": whole, "priority": ours.get("priorities", {}).get(row["_id"], 0)}


def _guessed(content: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What JDM does not say: columns by their cells; a last row without cells is the default."""
    columns, notes = guessed_columns(content)
    guessed: dict[str, Any] = {
        "version": "1", "owner": "unknown", "columns": columns, "hitPolicy": "Collect" if content["hitPolicy"] == "collect" else "First",
    }  # fmt: skip
    return guessed, [*notes, "version and owner are not in the file: version 1 of `unknown`"]
