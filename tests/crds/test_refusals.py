"""What the API server refuses by the CRDs alone, with field and reason."""

import copy
import re
from typing import Any

import pytest

from sluicegate.contracts.crds.structure import BY_MODEL
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import KINDS
from tests.contracts import kinds
from tests.contracts.files import example, minimal, refusal
from tests.contracts.test_broken_files import RESOURCES
from tests.crds.broken import CHANGES, FORBIDDEN, OTHERS, WORKFLOWS, Json
from tests.crds.placed import PLACED, broken_by
from tests.crds.server import Server

CASES = {**WORKFLOWS, **OTHERS}
EPOCH = "must not fall"

WEBHOOK_S = frozenset(
    {
        # expressions, graphs, schemas and spellings: no CEL rule can look into them
        "one alias for two values", "a component that no step calls", "a condition that is false",
        "two components that replace each other", "a step that needs itself", "two steps that need each other",
        "a step that needs a later one", "bad CEL", "CEL of an unknown function", "CEL nested 500 deep", "an unknown name",
        "an unknown step", "a condition that is a text", "headers in a step", "a step in the routing key",
        "a condition on the stage", "an answer that waits for the evaluator", "an answer from a step that may be skipped",
        "a field that a closed contract has not", "a field of a text", "an input that the component requires is not mapped",
        "an input that the component does not take", "an output that the contract promises is not mapped",
        "a schema that is a number", "a bad JSON Schema", "a schema with a misspelled keyword", "a schema with look-around",
        "a schema from elsewhere", "a schema from a file", "a reference to nothing", "a pattern that explodes",
        "a schema nested 100 deep", "a fallback value that breaks the contract", "a stub that breaks the contract",
        "a fallback value outside its domain", "a domain of no field", "a domain of an unknown step",
        "a redaction that is no path", "a redaction of no step in particular", "a redaction of a step by number",
        "a redaction of an unknown step",
        # rules that came later: what was stored before stays
        "a delta of a rate", "a deltaPhi of a rate", "a margin of contributions",
        # defaults and sums over the whole workflow
        "a step slower than the workflow", "a stage that must end before it may", "a deadline before the samples",
        "a reward gate without a reward", "a Shapley gate without a reward", "a Shapley gate where every component is needed",
    }
)  # fmt: skip
"""Broken files that the CRD takes: the webhook refuses them, and the control loop does not follow them."""


REFUSED = [
    *((item["kind"], *told) for item, *told in CASES.values()),
    *((item["kind"], field, FORBIDDEN, words) for item, _, field, words in CHANGES.values()),
    *((kind, "status.epoch", FORBIDDEN, EPOCH) for kind in kinds.STATUSES),
]
"""Kind, field, reason and words of all that the API server is seen to refuse below."""


def test_every_rule_has_an_object_that_breaks_it() -> None:
    """Of every model, at one of its places."""
    seen = {(one.model, one.rule) for told in REFUSED for one in broken_by(*told)}
    assert [one for one in PLACED if (one.model, one.rule) not in seen] == []
    assert {one.model for one in PLACED} == {model for model, guard in BY_MODEL.items() if guard.rules}


@pytest.mark.parametrize("told", REFUSED, ids=" ".join)
def test_one_rule_refuses_it(told: tuple[str, str, str, str]) -> None:
    """No words fit another rule of the place, so none is seen for another."""
    assert len(broken_by(*told)) == 1


@pytest.mark.cluster
@pytest.mark.parametrize("sentence", CASES)
def test_a_broken_object_is_refused(server: Server, sentence: str) -> None:
    item, field, reason, words = CASES[sentence]
    causes = server.create(item, dry=True).causes
    assert [one for one in causes if one.field == field and one.reason == reason and words in one.message], (
        causes
    )


@pytest.mark.cluster
@pytest.mark.parametrize("sentence", CHANGES)
def test_what_is_written_once_stays(server: Server, sentence: str) -> None:
    item, (path, value), field, words = CHANGES[sentence]
    stored = server.stored(item)
    changed = copy.deepcopy(stored)
    place: Any = changed["spec"]
    *above, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in above:
        place = place[key]
    place[last] = value
    causes = server.replace(changed, dry=True).causes
    assert [
        one for one in causes if one.field == field and one.reason == FORBIDDEN and words in one.message
    ], causes
    server.replace(stored, dry=True).require()


@pytest.mark.cluster
@pytest.mark.parametrize("kind", sorted(kinds.STATUSES))
def test_an_epoch_never_falls(server: Server, kind: str) -> None:
    stored = server.stored(kinds.full(kind))
    epoch = stored["status"]["epoch"]

    def written(**status: Any) -> Any:
        return server.replace(
            {**stored, "status": {**stored["status"], **status}}, subresource="/status", dry=True
        )

    written(epoch=epoch).require()
    written(epoch=epoch + 1).require()
    for answer in (written(epoch=epoch - 1), _without_epoch(server, stored)):
        assert [one for one in answer.causes if one.field == "status.epoch" and EPOCH in one.message], (
            answer.body
        )


def _without_epoch(server: Server, stored: Json) -> Any:
    status = {key: value for key, value in stored["status"].items() if key != "epoch"}
    return server.replace({**stored, "status": status}, subresource="/status", dry=True)


@pytest.mark.cluster
@pytest.mark.parametrize("kind", sorted(kinds.STATUSES))
def test_status_is_written_by_its_subresource_only(server: Server, kind: str) -> None:
    stored = server.stored(kinds.full(kind))
    changed = {**stored, "status": {**stored["status"], "epoch": 99}}
    assert server.replace(changed, dry=True).require()["status"]["epoch"] == stored["status"]["epoch"]


@pytest.mark.cluster
@pytest.mark.parametrize("sentence", RESOURCES)
def test_a_broken_file_is_refused_where_the_models_refuse_it(server: Server, sentence: str) -> None:
    item, path, _ = RESOURCES[sentence]
    answer = server.create(item, dry=True)
    if sentence in WEBHOOK_S:
        answer.require()
        return
    assert answer.code in {400, 422}
    told = [one.field for one in answer.causes] + re.findall(r'"(spec[^"]*)"', answer.body["message"])
    assert [field for field in told if field and (path.startswith(field) or field.startswith(path))], (
        answer.body
    )


@pytest.mark.cluster
@pytest.mark.parametrize(
    "value",
    [
        "0",
        "0.0",
        "1",
        "1.0",
        "1.000",
        "0.995",
        "1.5",
        "1.01",
        "-0.1",
        "2",
        "0,5",
        "00.1",
        ".5",
        "1e-3",
        "",
        "50%",
    ],
)
def test_a_rate_is_one_for_both(server: Server, value: str) -> None:
    """The model's validator and the CRD's pattern say the same."""
    item = minimal(contract={"sla": {"minSuccessRate": value}})
    assert (server.create(item, dry=True).code < 400) == (refusal(lambda: parse_data(item)) == ())


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("name", "taken"), [("a" * 63, True), ("a" * 64, False), ("a.b", False), ("a-b", True)]
)
def test_a_workflow_s_name_is_a_label_and_a_part_of_names(server: Server, name: str, taken: bool) -> None:
    """RFC 1123: labels have at most 63 characters, and no dots."""
    answer = server.create({**minimal(), "metadata": {"name": name}}, dry=True)
    assert (answer.code < 400) is taken
    if not taken:
        assert "metadata.name" in {one.field for one in answer.causes}


@pytest.mark.cluster
@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"AgentComponent"}))
def test_floats_are_refused_where_numbers_are(server: Server, kind: str) -> None:
    """The one place for floats is below a free-form leaf; an AgentComponent has no number elsewhere."""
    paths = _integers(kinds.SPECS[kind])
    assert paths
    for path in paths:
        item = copy.deepcopy(kinds.of(kind))
        place: Any = item["spec"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] += 0.5
        assert server.create(item, dry=True).code in {400, 422}, path


_FREE = frozenset({"parameters", "input", "output", "answer", "value", "default"})


def _integers(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        below = [(key, item) for key, item in value.items() if key not in _FREE]
    elif isinstance(value, list):
        below = list(enumerate(value))
    else:
        return [path] if isinstance(value, int) and not isinstance(value, bool) else []
    return [found for key, item in below for found in _integers(item, (*path, key))]


@pytest.mark.cluster
def test_the_whole_example_is_the_one_that_is_broken(server: Server) -> None:
    """What the tables break is whole."""
    for item in (example(), minimal(), *(kinds.of(kind) for kind in KINDS)):
        server.create(item, dry=True).require()
