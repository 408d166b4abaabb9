"""Loading of text: YAML 1.2, JSON, lines, limits, and nothing but Refused."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluicegate.contracts.documents import Document, load
from sluicegate.contracts.errors import Refused
from tests.contracts.files import refusal

# The core schema of YAML 1.2.2, section 10.3.2: scalar -> value.
CORE = {
    "null": None, "~": None, "Null": None, "true": True, "True": True, "FALSE": False,
    "yes": "yes", "on": "on", "No": "No", "y": "y",
    "0": 0, "-12": -12, "+3": 3, "010": 10, "0o17": 15, "0x3A": 58, "0b11": "0b11", "1_000": "1_000", "60:30": "60:30",
    "1.5": 1.5, "-.5": -0.5, "1e3": 1000.0, "12.": 12.0, "1.2.3": "1.2.3", "1.1.1.1": "1.1.1.1",
    "2026-01-31": "2026-01-31", "2026-01-31T10:00:00Z": "2026-01-31T10:00:00Z",
    "'true'": "true", '"5"': "5", "!!str 5": "5", "! 5": "5", "!!int 5": 5, "=": "=",
}  # fmt: skip

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def one(text: bytes | str) -> Document:
    (document,) = load(text)
    return document


@pytest.mark.parametrize("scalar", CORE)
def test_scalars_follow_the_core_schema(scalar: str) -> None:
    value = one(f"a: {scalar}").data["a"]
    assert (type(value), value) == (type(CORE[scalar]), CORE[scalar])


def test_field_names_are_texts() -> None:
    assert one("on: Job\ntrue: 1\n1: x\nnull: y").data == {"on": "Job", "true": 1, "1": "x", "null": "y"}


def test_several_documents_keep_their_lines_and_empty_ones_vanish() -> None:
    found = load("---\n# nothing\n---\na: 1\nb:\n- c: 2\n  d: [1,\n    2]\n---\nz: 1\n", source="f.yaml")
    assert [(item.data, item.source) for item in found] == [
        ({"a": 1, "b": [{"c": 2, "d": [1, 2]}]}, "f.yaml"), ({"z": 1}, "f.yaml"),
    ]  # fmt: skip
    assert found[0].lines == {
        "a": 4,
        "b": 5,
        "b[0]": 6,
        "b[0].c": 6,
        "b[0].d": 7,
        "b[0].d[0]": 7,
        "b[0].d[1]": 8,
    }
    assert found[1].lines == {"z": 10}


def test_a_list_of_objects_is_its_items() -> None:
    """As kubectl's and our own `get -o yaml` print several objects."""
    found = load(
        "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  spec: {x: 1}\n- kind: B\n  spec:\n  - y\n---\nkind: C\n"
    )
    assert [item.data["kind"] for item in found] == ["A", "B", "C"]
    assert [item.lines for item in found] == [
        {"kind": 4, "spec": 5, "spec.x": 5}, {"kind": 6, "spec": 7, "spec[0]": 8}, {"kind": 10},
    ]  # fmt: skip
    with pytest.raises(Refused) as refused:
        load("kind: List\nitems:\n- a\n- kind: B\n- [c]\n")
    assert [(problem.line, problem.value) for problem in refused.value.problems] == [
        (3, '"a"'),
        (5, "a list of 1"),
    ]
    with pytest.raises(Refused, match="empty"):
        load("kind: List\nitems: []\n")


def test_unusual_names_are_quoted_in_paths() -> None:
    assert list(one('labels:\n  "a.b": 1\n  "c d": 2\n  e-f: 3').lines) == [
        "labels", 'labels["a.b"]', 'labels["c d"]', "labels.e-f",
    ]  # fmt: skip


def test_aliases_stand_for_their_value() -> None:
    assert one("a: &x {b: 1}\nc: *x\nd: [*x]").data == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}]}


def test_anchors_end_with_their_document() -> None:
    with pytest.raises(Refused, match="unknown alias"):
        load("a: &x 1\n---\nb: *x")


def test_all_mistakes_of_values_are_told_together() -> None:
    with pytest.raises(Refused) as refused:
        load("a: .inf\nb: 1\nb: 2\nc: !!set {x}\nd: *no\n", source="f.yaml")
    assert [(item.path, item.line, item.source) for item in refused.value.problems] == [
        ("a", 1, "f.yaml"), ("b", 3, "f.yaml"), ("c", 4, "f.yaml"), ("d", 5, "f.yaml"),
    ]  # fmt: skip


def test_problems_of_one_file_are_bounded() -> None:
    with pytest.raises(Refused) as refused:
        load("\n".join(f"a{number}: .nan" for number in range(5000)))
    assert len(refused.value.problems) == 100


@given(JSON)
@example("\x7f")
@example("\x85 \u2028")
@example("😀")
@settings(deadline=None)
def test_json_is_read_as_json_reads_it(value: Any) -> None:
    """Oracle: the standard library's json."""
    for text in (
        json.dumps({"a": value}),
        json.dumps({"a": value}, ensure_ascii=False, indent=1),
        json.dumps({"a": value}, indent="\t"),
    ):
        if "\x00" in text:
            continue
        assert one(text).data == json.loads(text)


def read(text: bytes | str) -> None:
    """Loads the text; whatever it is, it gives documents, or problems that say value and hint."""
    problems = refusal(lambda: [type(document.data) for document in load(text)])
    assert all(problem.value and problem.hint for problem in problems)
    "".join(map(str, problems)).encode()


@given(st.binary(max_size=400) | st.text(max_size=400))
@example("a: &a\n- *a")
@example("{a: 1, ? [b] : c, *x : 1}")
@example("? {a: b}\n? [c]\n: - d\n")
@example("%TAG ! tag:x,2000:\n---\na: !x 1")
@example("\ufeff\ufeffa: 1")
@example('{"a":\t"\\ud800"}')
@example("[[[[{{{{")
@example("b: [")
@settings(deadline=None, max_examples=400)
def test_random_input_gives_documents_or_refused(text: bytes | str) -> None:
    read(text)


YAML_PIECES = st.sampled_from(
    ["a", "b: ", "- ", "\n", "  ", "[", "]", "{", "}", ",", "&x ", "*x", "? ", ": ", "!!str ", "'", '"', "|\n", ">\n", "#", "---\n",
     "...\n", "1", ".nan", "<<: ", "\t", "%", "\\u", "~"]
)  # fmt: skip


@given(st.lists(YAML_PIECES, max_size=40).map("".join))
@settings(deadline=None, max_examples=600)
def test_random_yaml_gives_documents_or_refused(text: str) -> None:
    read(text)
