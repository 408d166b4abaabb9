"""What a path names is in no line that is written, nor are its copies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.runs import Attempt, Comparison, Violation
from sluicegate.lineage import entries
from sluicegate.lineage.redaction import REDACTED, Redactor, parse_path
from tests.lineage.builders import run, step

PATHS = {
    "a field": ("input.name", "input", {"name": "Ada Lovelace", "x": 1}, {"name": REDACTED, "x": 1}),
    "every item": (
        "input.history[*].phone",
        "input",
        {"history": [{"phone": "555-0100", "n": 1}, {"n": 2}, 7]},
        {"history": [{"phone": REDACTED, "n": 1}, {"n": 2}, 7]},
    ),
    "one item": ("input.items[1]", "input", {"items": ["a", "b", "c"]}, {"items": ["a", REDACTED, "c"]}),
    "every key": (
        "output.*.mail",
        "output",
        {"a": {"mail": "a@b.c"}, "b": 1},
        {"a": {"mail": REDACTED}, "b": 1},
    ),
    "a whole tree": ("output.card", "output", {"card": {"number": 4111, "cvc": 1}}, {"card": REDACTED}),
    "everything": ("input", "input", {"a": 1}, REDACTED),
    "a number": ("output.card", "output", {"card": 4111111111111111}, {"card": REDACTED}),
    "what is not there": ("input.a.b[3].c", "input", {"a": {"b": [1]}}, {"a": {"b": [1]}}),
    "an empty value": ("input.a", "input", {"a": None}, {"a": None}),
}


@pytest.mark.parametrize(("path", "part", "value", "expected"), PATHS.values(), ids=PATHS.keys())
def test_a_path_names(path: str, part: str, value: Any, expected: Any) -> None:
    assert getattr(Redactor([path])(run(**{part: value})), part) == expected


STEPS = {
    "an answer": ("steps.plan.output.email", ("plan", "response")),
    "an answer, as expressions say it": ("steps.plan.email", ("plan", "response")),
    "a request": ("steps.plan.input.email", ("plan", "request")),
    "of another step": ("steps.other.output.email", None),
}


@pytest.mark.parametrize(("path", "place"), STEPS.values(), ids=STEPS.keys())
def test_a_path_names_a_step_s(path: str, place: tuple[str, str] | None) -> None:
    """Values differ, so that no copy is found."""
    record = run(
        steps=tuple(
            step(name, request={"email": f"q{name}@shop.org"}, response={"email": f"a{name}@shop.org"})
            for name in ("plan", "answer")
        )
    )
    found = Redactor([path])(record)
    hidden = {
        (s.name, side)
        for s in found.steps
        for side in ("request", "response")
        if getattr(s, side) == {"email": REDACTED}
    }
    assert hidden == ({place} if place else set())


def test_the_input_is_not_changed() -> None:
    value = {"history": [{"phone": "555-0100"}]}
    Redactor(["input.history[*].phone"])(run(input=value))
    assert value == {"history": [{"phone": "555-0100"}]}


def test_no_paths_cost_nothing() -> None:
    record = run()
    assert Redactor([])(record) is record


printable = st.characters(codec="utf-8", exclude_characters='"\\', exclude_categories=("C", "Z"))
secrets = st.text(printable, min_size=4, max_size=12)


@given(secrets, secrets)
def test_copies_are_nowhere_in_the_line(first: str, second: str) -> None:
    record = run(
        input={
            "customer": {"name": first, "numbers": [second, 12345678]},
            "text": f"I am {first}, call {second}.",
        },
        output={"reply": f"Dear {first}", "id": 12345678},
        error=f"no such customer {first}",
        comparison=Comparison(agrees=False, similarity=0.5, differences=(f"reply: {second}",)),
        violations=(Violation(code="Enum", path="output.reply", message=f"{first!s} is not allowed"),),
        tags={"who": first},
        steps=(
            step(
                request={first: [second]},
                response=[{"n": "12345678"}],
                attempts=(Attempt(number=1, started_ms=0.0, service_ms=1.0, message=f"bad {second}"),),
                violations=(Violation(code="Type", path="x", message=second),),
            ),
        ),
    )
    line = entries.encode_run(Redactor(["input.customer.name", "input.customer.numbers[*]"])(record))
    kept = entries.decode(line)
    texts = set(
        leaves(kept["input"]) + leaves(kept["output"]) + leaves(kept["steps"]) + leaves(kept["violations"])
    )
    texts |= {kept["error"], *kept["comparison"]["differences"], *kept["tags"].values()}
    for secret in (first, second, "12345678"):
        if secret in REDACTED:
            continue
        assert not any(
            secret in text.replace(REDACTED, "") for text in map(str, texts) if secret not in WORDS
        )


WORDS = entries.encode_run(run()).decode() + "I am , call .Dear no such customer is not allowed bad reply"


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in [key, *leaves(item)]]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None or isinstance(value, bool) else [value]


def test_steps_after_the_answer_lose_copies_of_what_the_run_had() -> None:
    record = run(input={"phone": "555-0100"}, steps=(step(),))
    [judge] = Redactor(["input.phone"]).redact_steps(
        (step("judge", request={"answer": "call 555-0100"}),), record
    )
    assert (judge.name, judge.request) == ("judge", {"answer": f"call {REDACTED}"})


BAD = (
    "",
    "inputs.x",
    "input..x",
    "input[",
    "input[a]",
    "steps",
    "steps[0].output",
    "a b",
    "input.x[-1]",
    ".input",
    "input." + "a." * 9,
)


@pytest.mark.parametrize("path", BAD)
def test_a_path_that_names_nothing_is_refused(path: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_path(path)
    assert refused.value.problems[0].allowed


def test_every_bad_path_is_named_at_once() -> None:
    with pytest.raises(Refused) as refused:
        Redactor(["input.ok", *BAD])
    assert [problem.value for problem in refused.value.problems] == list(BAD)


def test_parts_of_a_path() -> None:
    assert parse_path("input.history[*].items[0].a-b_c") == ("input", "history", "*", "items", 0, "a-b_c")
