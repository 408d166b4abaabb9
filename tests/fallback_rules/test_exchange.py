"""Tables of other programs: what is exported is imported again as the same table, and bad files are refused whole."""

import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import openpyxl  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.resources.fallback import HitPolicy, RuleSetSpec
from sluicegate.fallback_rules.exchange import Imported
from sluicegate.fallback_rules.exchange.dmn import NAMESPACE, to_dmn
from sluicegate.fallback_rules.exchange.jdm import from_jdm, to_jdm
from sluicegate.fallback_rules.exchange.sheets import from_csv, from_xlsx, to_csv, to_xlsx
from sluicegate.fallback_rules.table import compile_table
from tests.fallback_rules.tables import AMOUNT, INTENT, rule, specs, table

WAYS: dict[str, tuple[Callable[[RuleSetSpec], bytes], Callable[[bytes], Imported]]] = {
    "csv": (lambda spec: to_csv(spec).content, from_csv),
    "jdm": (lambda spec: to_jdm(spec, "t").content, from_jdm),
    "xlsx": (lambda spec: to_xlsx(spec).content, from_xlsx),
}
# Texts that mean something else somewhere: JSON, cells, formulas, quotes, line ends, other scripts.
ODD = ("=1+1", "+1", "-", "@x", "absent", "null", "[1..2)", ">= 5", 'a "b", c', "a,b", " x ", "'x", "''", "1", "1.0", "true", "退款", "a\nb", "a\tb", "a;b", "{}", "date(\"2026-01-01\")")  # fmt: skip
values = st.sampled_from(ODD) | st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn")), min_size=1, max_size=6
)
answers = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.just(0.5) | values, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(values, inner, max_size=2), max_leaves=4
)  # fmt: skip


@st.composite
def odd_specs(draw: st.DrawFn) -> RuleSetSpec:
    """A random table with odd texts in every place that takes a text."""
    spec = draw(specs(max_rules=4))
    words = draw(st.lists(values, min_size=1, max_size=4, unique=True))
    column = {
        "name": "word",
        "value": "input.word",
        "type": "Enum",
        "values": words,
        "description": draw(st.none() | values),
    }
    rows = []
    for row in spec.model_dump(mode="json", by_alias=True)["rules"]:
        when = dict(row["when"])
        if draw(st.booleans()):
            when["word"] = {
                "oneOf": draw(st.lists(st.sampled_from(words), min_size=1, max_size=2, unique=True))
            }
        answer = draw(answers.filter(lambda answer: answer is not None))
        output: dict[str, Any] = (
            {"answer": answer}
            if draw(st.integers(0, 4))
            else {"answer": None, "answerFrom": {"say": "'=x'", "word": "word"}}
        )
        rows.append(row | {"when": when, "reason": draw(st.none() | values)} | output)
    data = spec.model_dump(mode="json", by_alias=True)
    return RuleSetSpec.model_validate(
        data
        | {"columns": [*data["columns"], column], "rules": rows, "contract": {"description": draw(values)}}
    )


@pytest.mark.parametrize("way", ["csv", "jdm"])
@settings(max_examples=20, deadline=None)
@given(spec=odd_specs())
def test_what_is_exported_is_imported_as_the_same_table(way: str, spec: RuleSetSpec) -> None:
    out, back = WAYS[way]
    assert compile_table(back(out(spec)).spec).digest == compile_table(spec).digest


@settings(max_examples=6, deadline=None)
@given(spec=odd_specs())
def test_a_workbook_holds_the_same_table(spec: RuleSetSpec) -> None:
    content = to_xlsx(spec).content
    assert compile_table(from_xlsx(content).spec).digest == compile_table(spec).digest
    assert all(
        cell.data_type != "f"
        for row in openpyxl.load_workbook(io.BytesIO(content)).active.iter_rows()
        for cell in row
    )


WHOLE = table(
    rule("small", {"text": "退款", "code": 1}, when={"intent": {"oneOf": ["refund"]}, "amount": {"atLeast": "5", "below": "50"}}, reason="=cheaper", guard="amount > 1.0"),
    rule("b", when={"amount": {"atLeast": "50"}}),
    default={"text": "-"}, description="all", hitPolicy="First",
    examples=[{"name": "e", "input": {"intent": "refund", "amount": 5}, "rule": "small", "answer": {"text": "退款", "code": 1}}],
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_everything_comes_back(way: str) -> None:
    out, back = WAYS[way]
    assert back(out(WHOLE)).spec == WHOLE


def test_no_cell_of_a_csv_begins_like_a_formula() -> None:
    lines = to_csv(WHOLE).content.decode("utf-8-sig").splitlines()
    assert "'=cheaper" in lines[-2]
    assert not any(
        cell.strip('"').startswith(("=", "+", "-", "@")) for line in lines for cell in line.split(",")
    )


def sheet(*rows: list[Any]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_a_sheet_that_a_person_writes_is_read() -> None:
    told = from_xlsx(
        sheet(
            ["version", 3], ["owner", "support"], ["column", "amount", "Number", "input.amount", 0, 1000.5], ["column", "gold", "Boolean", "input.gold"],
            ["rule", "when amount", "when gold", "answer text", "answer code"], ["a", "[0..50)", True, "Sorry", 7], ["b", "-", False, "No", None],
        )
    )  # fmt: skip
    assert [row.answer for row in told.spec.rules] == [{"text": "Sorry", "code": 7}, {"text": "No"}]
    assert compile_table(told.spec).decide({"amount": 3, "gold": True}).rule == "a"


REFUSED: dict[str, tuple[Any, bytes, str]] = {
    "a formula": (from_xlsx, sheet(["version", "=1+1"]), "cell B1: is a formula"),
    "no workbook": (from_xlsx, b"PK", "is not an Excel workbook"),
    "no UTF-8": (from_csv, b"\xff\xfe", "is not CSV in UTF-8"),
    "no rules": (from_csv, b"version,1\r\n", "has no row that begins with `rule`"),
    "an unknown row": (from_csv, b"versoin,1\r\nrule\r\n", "row 1: is not known"),
    "an unknown head": (
        from_csv,
        b"rule,wen x\r\na,1\r\n",
        "row 2, wen x: cannot be read: there is no column wen x",
    ),
    "a cell that is none": (from_csv, b'rule,when x\r\na,"x ""y"\r\n', "row 2, when x: cannot be read"),
    "no JSON": (from_csv, b"contract,{\r\nrule\r\n", "row 1: is not JSON"),
    "a table that is none": (from_csv, b"rule\r\nA B\r\n", "spec.rules[0].id"),
    "no decision": (from_jdm, b"[]", "has 0 decision tables"),
    "no JSON at all": (from_jdm, b"{", "is not JSON"),
    "a table without rules": (
        from_jdm,
        b'{"nodes":[{"type":"decisionTableNode","content":{}}]}',
        "is not a decision table",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused(case: str) -> None:
    read, content, message = REFUSED[case]
    with pytest.raises(Refused) as refused:
        read(content)
    assert message in str(refused.value)


def test_a_decision_of_an_editor_is_read_by_guessing() -> None:
    decision = json.loads(to_jdm(WHOLE, "t").content)
    content = decision["nodes"][1]["content"]
    del content["x-sluicegate"]
    told = from_jdm(json.dumps(decision).encode())
    assert [(column.name, column.type, column.values) for column in told.spec.columns] == [
        ("intent", "Enum", ("refund",)),
        ("amount", "Number", ()),
    ]
    assert told.spec.hit_policy is HitPolicy.FIRST
    assert told.spec.rules[-1].when == {}
    assert any("a guess" in note for note in told.notes)


def test_dmn_is_one_table_with_every_cell() -> None:
    exported = to_dmn(WHOLE, "support")
    root = ET.fromstring(exported.content)
    names = {"d": NAMESPACE}
    (found,) = root.findall("d:decision/d:decisionTable", names)
    assert found.get("hitPolicy") == "FIRST"
    assert [
        one.findtext("d:inputExpression/d:text", namespaces=names) for one in found.findall("d:input", names)
    ] == ["intent", "amount"]
    cells = [
        [one.findtext("d:text", namespaces=names) for one in row if one.tag.endswith("Entry")]
        for row in found.findall("d:rule", names)
    ]
    digest = compile_table(WHOLE).digest
    assert cells == [
        ['"refund"', "[5..50)", '{"text": "退款", "code": 1}', "amount > 1.0", "=cheaper", digest],
        ["-", ">= 50", '{"text": "b"}', "", "", digest],
    ]  # fmt: skip
    assert found.findtext("d:output/d:defaultOutputEntry/d:text", namespaces=names) == '{"text": "-"}'
    assert len(exported.notes) == 2


@settings(max_examples=8, deadline=None)
@given(spec=odd_specs())
def test_every_table_is_well_formed_dmn(spec: RuleSetSpec) -> None:
    root = ET.fromstring(to_dmn(spec, "t").content)
    assert len(root.findall(f".//{{{NAMESPACE}}}rule")) == len(spec.rules)
    assert len(root.findall(f".//{{{NAMESPACE}}}inputEntry")) == len(spec.rules) * len(spec.columns)


def test_columns_of_a_table_stay_in_their_order() -> None:
    spec = table(rule("a"), columns=[AMOUNT, INTENT])
    for out, back in WAYS.values():
        assert [column.name for column in back(out(spec)).spec.columns] == ["amount", "intent"]
