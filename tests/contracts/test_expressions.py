"""Paths as getters, CEL for the rest: what they give, what they refer to, and how they fail."""

import json
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.contracts.expressions import MAX_LENGTH, ROOTS, ExpressionError, compile_expression

SCOPE: dict[str, Any] = {
    "input": {
        "user_query": "where is my parcel",
        "history": [1, 2],
        "n": 5,
        "f": 1.5,
        "null": None,
        "a-b": {"c": "d"},
    },
    "steps": {"plan": {"intent": "track", "steps": [{"type": "api_call", "spec": {"q": 1}}]}},
    "run": {"id": "r1", "attempt": 1},
    "headers": {"x-session": "s1"},
}

# expression -> (value, references); CEL's values follow the language definition of google/cel-spec.
GIVES: dict[str, tuple[Any, set[str]]] = {
    "input.user_query": ("where is my parcel", {"input.user_query"}),
    " input . n ": (5, {"input.n"}),
    "steps.plan.steps[0].spec": ({"q": 1}, {"steps.plan.steps.[].spec"}),
    'input["a-b"].c': ("d", {"input.a-b.c"}),
    'headers["x-session"]': ("s1", {"headers.x-session"}),
    "input.null": (None, {"input.null"}),
    "run.id": ("r1", {"run.id"}),
    "has(input.history) ? input.history : []": ([1, 2], {"input.history"}),
    "has(steps.execute) ? steps.execute : {}": ({}, {"steps.execute"}),
    'steps.plan.steps.size() > 0 && steps.plan.steps[0].type == "api_call"': (
        True, {"steps.plan.steps", "steps.plan.steps.[].type"},
    ),
    "input.history.map(x, x * input.n)": ([5, 10], {"input.history", "input.n"}),
    "input.history.map(input, input + 1)": ([2, 3], {"input.history"}),
    "input.history.exists(x, x == steps.plan.steps[0].spec.q)": (True, {"input.history", "steps.plan.steps.[].spec.q"}),
    "input.history[input.n - 4]": (2, {"input.history.[]", "input.n"}),
    '{"a": [1, 2.5, null, true], "b": {"c": input.n}}': ({"a": [1, 2.5, None, True], "b": {"c": 5}}, {"input.n"}),
    ".input.n + 1": (6, {"input.n"}),
    'string(input.n) + "!"': ("5!", {"input.n"}),
    "[]": ([], set()),
    '"text"': ("text", set()),
    "true": (True, set()),
    "type(input.n) == int": (True, {"input.n"}),
    "input == {} || has(input.n)": (True, {"input", "input.n"}),
    "7u": (7, set()),
}  # fmt: skip

# expression -> part of the error when it is compiled
BAD = {
    "": "mismatched input",
    "input.x ==": "mismatched input",
    "inptu.x": "did you mean input?",
    "step.plan.x": "did you mean steps?",
    "plan.intent": "unknown name plan",
    "size(inputs) > 1": "did you mean input?",
    "foo(input)": "undeclared reference to 'foo'",
    '1 + "a"': "no matching overload",
    "(" * 100 + "1" + ")" * 100: "recursion limit",
    "1" + " + 1" * 1000: "recursion",
    "input" + ".a" * 2100: "at most 4096",
    "input\x00": "Syntax error",
    "'\ud800'": "",
    "input.items.all(x": "missing ')'",
}

# expression -> part of the error when it is evaluated on SCOPE
FAILS = {
    "input.nope": "input has no nope; there is: user_query, history, n, f, null, a-b",
    "steps.execute.status": "steps has no execute (a step that was skipped or has not run is absent); there is: plan",
    "input.user_query.x": "input.user_query is a text, it has no x",
    "input.user_query[0]": "input.user_query is a text, it has no 0",
    "input.null.x": "input.null is null, it has no x",
    "input.history[2]": "input.history is a list of 2, it has no 2",
    "input.history.first": "input.history is a list of 2, it has no first",
    "input[0]": "input has no 0",
    'steps.execute.status == "x"': "test it with has(…) first",
    "input.nope + 1": "input has no nope",
    "1 / (input.n - 5)": "divide by zero",
    "input.n + input.f": "write 1.0, or double(…)",
    "input.f / 0.0": "not JSON",
    "{1: 2}": "not JSON",
    'timestamp("2026-01-01T00:00:00Z")': "not JSON",
    'b"x"': "not JSON",
    "type(1)": "not JSON",
    "[input.n, duration('1s')]": "not JSON",
    "input.user_query ? 1 : 2": "",
    "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d,"
    " [1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, true))))))": "Iteration budget",
}


@pytest.mark.parametrize("text", GIVES)
def test_expression_gives(text: str) -> None:
    value, references = GIVES[text]
    compiled = compile_expression(text)
    assert compiled.evaluate(SCOPE) == value
    assert {".".join(path) for path in compiled.references} == references
    assert compiled.is_constant == (not references)


@pytest.mark.parametrize("text", BAD)
def test_bad_expression_is_an_error(text: str) -> None:
    with pytest.raises(ExpressionError) as error:
        compile_expression(text)
    assert BAD[text] in str(error.value)


@pytest.mark.parametrize("text", FAILS)
def test_evaluation_fails_with_a_reason(text: str) -> None:
    compiled = compile_expression(text)
    with pytest.raises(ExpressionError) as error:
        compiled.evaluate(SCOPE)
    assert FAILS[text] in str(error.value)


COLUMNS = {"input.x ==": 11, "1 + inptu.x": 5, "bad(": 5, "foo(1)": 4, "input.n == = 1": 12}


@pytest.mark.parametrize("text", COLUMNS)
def test_the_column_of_a_mistake_is_told(text: str) -> None:
    with pytest.raises(ExpressionError) as error:
        compile_expression(text)
    assert error.value.column == COLUMNS[text]


def test_only_plain_paths_are_paths() -> None:
    assert compile_expression("steps.plan.intent").is_path
    assert compile_expression('input["a-b"][0].c').is_path
    assert not compile_expression("has(input.x)").is_path
    assert not compile_expression("true").is_path


def test_a_path_gives_the_object_itself() -> None:
    assert compile_expression("steps.plan").evaluate(SCOPE) is SCOPE["steps"]["plan"]


def test_guards_are_what_has_tests() -> None:
    compiled = compile_expression("has(steps.a) && has(input.b.c) ? steps.a.x : 1")
    assert set(compiled.guards) == {("steps", "a"), ("input", "b", "c")}
    assert set(compiled.references) == {("steps", "a"), ("input", "b", "c"), ("steps", "a", "x")}


TYPES = {
    "1 == 1": "bool",
    "input.a == 1": "bool",
    "input.a": "dyn",
    '"a"': "string",
    "1": "int",
    "input.a + 1": "int",
}


@pytest.mark.parametrize("text", TYPES)
def test_static_type_is_known(text: str) -> None:
    assert compile_expression(text).result_type == TYPES[text]


def test_values_that_an_expression_does_not_name_cannot_disturb_it() -> None:
    """CEL knows only 64-bit numbers; one that is larger elsewhere in the input is not its business."""
    scope = SCOPE | {"input": {"n": 1, "huge": 2**70, "odd": "\ud800"}}
    assert compile_expression("input.n + 1").evaluate(scope) == 2
    with pytest.raises(ExpressionError):
        compile_expression("input.huge + 1").evaluate(scope)
    with pytest.raises(ExpressionError):
        compile_expression("input.odd + 'a'").evaluate(scope)


def test_evaluation_changes_nothing() -> None:
    scope = {"input": {"xs": [1, 2]}, "steps": {}, "run": {}, "headers": {}}
    compile_expression("input.xs.map(x, x + 1)").evaluate(scope)
    assert scope == {"input": {"xs": [1, 2]}, "steps": {}, "run": {}, "headers": {}}


def test_a_nul_character_is_an_error_and_not_the_end_of_the_text() -> None:
    """cel-expr-python 0.1.3 gives "a" for "a\\0b"."""
    scope = {
        "input": {"a": "a\x00b", "b": {"k\x00": 1}, "c": "\\u0000", "d": 1},
        "steps": {},
        "run": {},
        "headers": {},
    }
    for text in ('input.a + ""', "size(input.b) > 0", "[input]"):
        with pytest.raises(ExpressionError, match="NUL"):
            compile_expression(text).evaluate(scope)
    assert compile_expression('input.c + "!"').evaluate(scope) == "\\u0000!"
    assert compile_expression("input.d + 1").evaluate(scope) == 2
    assert compile_expression("input.a").evaluate(scope) == "a\x00b"


NAMES = st.text("abcxyz_", min_size=1, max_size=6)
TEXT = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(JSON, st.lists(NAMES | st.integers(0, 3), max_size=4))
@settings(deadline=None, max_examples=300)
def test_getters_and_cel_agree(value: Any, keys: list[str | int]) -> None:
    """A path means the same as a getter and, in brackets, as CEL."""
    path = "input" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    scope = {"input": value, "steps": {}, "run": {}, "headers": {}}
    getter, cel = compile_expression(path), compile_expression(f"({path})")
    assert getter.is_path
    assert not cel.is_path
    assert getter.references == cel.references
    assert outcome(getter, scope) == outcome(cel, scope)


def outcome(compiled: Any, scope: Any) -> Any:
    try:
        return compiled.evaluate(scope)
    except ExpressionError:
        return ExpressionError


@given(JSON)
@settings(deadline=None)
def test_json_passes_through_cel_unchanged(value: Any) -> None:
    scope = {"input": {"a": value}, "steps": {}, "run": {}, "headers": {}}
    passed = compile_expression("[input.a][0]").evaluate(scope)
    assert json.dumps(passed, sort_keys=True) == json.dumps(value, sort_keys=True)


def test_objects_made_by_cel_have_one_order() -> None:
    """CEL's maps have none of their own, and hash differently in every process."""
    scope = {"input": {"a": dict.fromkeys("zyxwvutsrq", 1)}, "steps": {}, "run": {}, "headers": {}}
    assert list(compile_expression("[input.a][0]").evaluate(scope)) == sorted("zyxwvutsrq")


PIECES = st.sampled_from(
    ["input", "steps", ".a", "[0]", "(", ")", "has(", "?", ":", "&&", "||", "!", "-", "+", "==", "in", "1", "1u", "0x", "1e999", "'", '"',
     "\\", "r'", "b'", "[", "]", "{", "}", ",", ".map(x, x)", ".all(", "x", " ", "\n", "//", "é", "\x00", "size(", "type(", "null", "true", "`"]
)  # fmt: skip


@given(
    st.lists(PIECES, max_size=30).map("".join)
    | st.text(max_size=60)
    | st.text(max_size=60).map(lambda text: f"input.{text}")
)
@settings(deadline=None, max_examples=800)
def test_garbage_gives_a_value_or_an_expression_error(text: str) -> None:
    try:
        compiled = compile_expression(text)
    except ExpressionError as error:
        str(error)
        return
    outcome(compiled, SCOPE)
    assert all(path[0] in ROOTS for path in compiled.references)


def test_length_is_bounded_before_parsing() -> None:
    with pytest.raises(ExpressionError, match="at most 4096"):
        compile_expression("1" * (MAX_LENGTH + 1))


def test_compiled_expressions_are_shared_by_threads() -> None:
    shared = compile_expression("input.xs.map(x, x * 2).filter(y, y > input.n)")
    wrong: list[Any] = []

    def work(number: int) -> None:
        for turn in range(300):
            own = compile_expression(f"input.n + {number}")
            found = (
                shared.evaluate({"input": {"xs": [number, turn], "n": 3}}),
                own.evaluate({"input": {"n": turn}}),
            )
            if found != ([item for item in (2 * number, 2 * turn) if item > 3], turn + number):
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
