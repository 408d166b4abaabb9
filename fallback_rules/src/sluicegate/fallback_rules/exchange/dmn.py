"""DMN 1.3 (OMG formal/21-02-01), for auditors: one decision with one decision table in FEEL. Written only."""

import json
import xml.etree.ElementTree as ET
from typing import Any

from sluicegate.contracts.resources.fallback import ColumnType, HitPolicy, RuleColumn, RuleSetSpec, TableRule
from sluicegate.fallback_rules.exchange import Exported
from sluicegate.fallback_rules.exchange.notation import QUOTED
from sluicegate.fallback_rules.table import compile_table

NAMESPACE = "https://www.omg.org/spec/DMN/20191111/MODEL/"
_HIT = {
    HitPolicy.UNIQUE: "UNIQUE", HitPolicy.FIRST: "FIRST", HitPolicy.PRIORITY: "FIRST", HitPolicy.ANY: "ANY", HitPolicy.COLLECT: "COLLECT",
}  # fmt: skip
_TYPE = {
    ColumnType.ENUM: "string", ColumnType.INTEGER: "number", ColumnType.NUMBER: "number", ColumnType.BOOLEAN: "boolean", ColumnType.DATE: "date",
}  # fmt: skip


def to_dmn(spec: RuleSetSpec, name: str) -> Exported:
    """The table as XML. Raises Refused when it cannot be compiled."""
    table = compile_table(spec)
    notes = []
    if spec.hit_policy is HitPolicy.PRIORITY:
        notes.append(
            "hit policy Priority is written as FIRST, with the rules in the order of answering: DMN's has priorities of outputs"
        )
    if any(rule.guard or rule.answer_from for rule in spec.rules):
        notes.append("guards and computed answers are CEL, written as annotations and texts")
    if spec.default is not None:
        notes.append("the default is a default output entry; engines that know none answer null")
    root = ET.Element(
        "definitions",
        {"xmlns": NAMESPACE, "id": f"_{name}", "name": name, "namespace": "https://sluicegate.io/rules"},
    )
    for column in spec.columns:
        _input_data(root, column)
    decision = ET.SubElement(root, "decision", id=f"decision_{name}", name=name)
    if spec.description:
        ET.SubElement(decision, "description").text = spec.description
    ET.SubElement(decision, "variable", name=name)
    for column in spec.columns:
        requirement = ET.SubElement(decision, "informationRequirement", id=f"needs_{column.name}")
        ET.SubElement(requirement, "requiredInput", href=f"#input_{column.name}")
    rules = [spec.rules[row.number] for row in table.ordered]
    _decision_table(decision, spec, rules, table.digest)
    ET.indent(root)
    return Exported(
        content=ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n", notes=tuple(notes)
    )


def _input_data(root: ET.Element, column: RuleColumn) -> None:
    data = ET.SubElement(root, "inputData", id=f"input_{column.name}", name=column.name)
    ET.SubElement(data, "description").text = f"{column.description or ''} taken from {column.value}".strip()
    ET.SubElement(data, "variable", name=column.name, typeRef=_TYPE[column.type])


def _decision_table(decision: ET.Element, spec: RuleSetSpec, rules: list[TableRule], digest: str) -> None:
    table = ET.SubElement(decision, "decisionTable", hitPolicy=_HIT[spec.hit_policy])
    for column in spec.columns:
        column_input = ET.SubElement(
            table, "input", id=f"column_{column.name}", label=column.description or column.name
        )
        expression = ET.SubElement(column_input, "inputExpression", typeRef=_TYPE[column.type])
        _text(expression, column.name)
        if column.values:
            _text(
                ET.SubElement(column_input, "inputValues"),
                ", ".join(json.dumps(value, ensure_ascii=False) for value in column.values),
            )
    output = ET.SubElement(table, "output", name="answer")
    if spec.default is not None:
        _text(ET.SubElement(output, "defaultOutputEntry"), feel(spec.default))
    for annotation in ("guard", "reason", "digest"):
        ET.SubElement(table, "annotation", name=annotation)
    for rule in rules:
        row = ET.SubElement(table, "rule", id=f"rule_{rule.id}")
        ET.SubElement(row, "description").text = rule.id
        for column in spec.columns:
            _text(
                ET.SubElement(row, "inputEntry"), QUOTED.cell(rule.when.get(column.name), column.type) or "-"
            )
        _text(ET.SubElement(row, "outputEntry"), feel(rule.answer_from or rule.answer))
        for note in (rule.guard or "", rule.reason or "", digest):
            _text(ET.SubElement(row, "annotationEntry"), note)


def _text(parent: ET.Element, text: str) -> None:
    ET.SubElement(parent, "text").text = "".join(
        letter for letter in text if letter >= " " or letter in "\t\n"
    )


def feel(value: Any) -> str:
    """A JSON value as a FEEL literal: contexts have quoted keys, the rest is as in JSON."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {feel(item)}" for key, item in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(feel, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
