"""What the API server's answers mean, without one: each body is one that kube-apiserver 1.34 sent."""

from collections.abc import Iterator
from typing import Any

import pytest

from sluicegate.console.cluster import refusals, watching
from sluicegate.console.cluster.applying import Applying
from sluicegate.contracts.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Problem,
    Refused,
    SluicegateError,
    Unavailable,
)
from tests.console import objects

Json = dict[str, Any]


def status(message: str, *causes: Json, **details: Any) -> Json:
    return {"kind": "Status", "message": message, "details": {"causes": list(causes), **details}}


@pytest.mark.parametrize(
    ("cause", "problem"),
    [
        (
            {
                "field": "spec.version",
                "message": 'Invalid value: "integer": spec.version in body must be of type string: "integer"',
            },
            Problem(path="spec.version", message='must be of type string: "integer"', value='"integer"'),
        ),
        (
            {
                "field": "spec.action",
                "message": 'Unsupported value: "Jump": supported values: "Promote", "Abort"',
            },
            Problem(
                path="spec.action",
                message="not one of the values",
                value='"Jump"',
                allowed="Promote, Abort",
            ),
        ),
        (
            {"field": "spec.target.uid", "message": "Required value"},
            Problem(path="spec.target.uid", message="required value"),
        ),
        (
            {
                "field": "spec.reason",
                "message": 'Invalid value: "": a full Promote needs a reason; hint: say why',
            },
            Problem(path="spec.reason", message="a full Promote needs a reason", hint="say why"),
        ),
    ],
)
def test_a_cause_of_the_schema_becomes_a_problem(cause: Json, problem: Problem) -> None:
    error = refusals.error(422, status("Decision is invalid", cause))
    assert isinstance(error, Refused)
    assert error.problems == (problem,)


POLICY = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: "


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("spec.action: alice may not Abort; got Abort; allowed: holders", ["spec.action"]),
        (
            "spec.decidedBy: must be the caller; got bob; allowed: alice; metadata.finalizers: a Decision has none; got x",
            ["spec.decidedBy", "metadata.finalizers"],
        ),
        ("no path at all", ["policy p"]),
    ],
)
@pytest.mark.parametrize(("code", "kind"), [(403, Forbidden), (422, Refused)])
def test_a_policy_denies_with_its_own_sentences(
    text: str, paths: list[str], code: int, kind: type[Refused]
) -> None:
    message = f'decisions "x" is forbidden: {POLICY}{text}'
    error = refusals.error(code, status(message, {"message": POLICY + text}))
    assert type(error) is kind
    assert isinstance(error, Refused)
    assert [one.path for one in error.problems] == paths
    assert "ValidatingAdmissionPolicy" not in str(error)


def test_a_webhook_tells_every_problem_by_line() -> None:
    text = "spec.version: is taken; hint: choose another\nspec.steps[0].inputs: unknown name"
    message = f'admission webhook "validate.sluicegate.io" denied the request: {text}'
    error = refusals.error(422, status(message))
    assert isinstance(error, Refused)
    assert error.problems == (
        Problem(path="spec.version", message="is taken", hint="choose another"),
        Problem(path="spec.steps[0].inputs", message="unknown name"),
    )


@pytest.mark.parametrize(
    ("code", "body", "kind", "words"),
    [
        (401, status("Unauthorized"), Forbidden, "user bob in context staging"),
        (404, {"message": "404 page not found"}, NotFound, "install the chart"),
        (
            404,
            status('agentworkflows "x" not found', name="x", kind="agentworkflows"),
            NotFound,
            '"x" not found',
        ),
        (404, status('namespaces "y" not found', name="y", kind="namespaces"), NotFound, 'namespaces "y"'),
        (409, status("the object has been modified", name="x"), Conflict, "modified"),
        (
            409,
            status(
                "Apply failed",
                {
                    "reason": "FieldManagerConflict",
                    "field": ".spec.version",
                    "message": 'conflict with "argocd"',
                },
            ),
            Conflict,
            ".spec.version: argocd",
        ),
        (500, status("boom"), SluicegateError, "boom"),
        (503, "not even JSON", Unavailable, "not even JSON"),
    ],
)
def test_an_answer_becomes_the_error_it_means(
    code: int, body: Any, kind: type[SluicegateError], words: str
) -> None:
    error = refusals.error(code, body, user="bob", context="staging")
    assert type(error) is kind
    assert words in str(error)


def item(name: str, version: str) -> Json:
    return {"metadata": {"name": name, "namespace": "n", "resourceVersion": version}}


class Script:
    """Answers a watch step by step: a list of items, a list of changes, or an error."""

    def __init__(self, *steps: Any) -> None:
        self.steps, self.after = [*steps], list[str | None]()

    def request(self, method: str, path: str, *, query: Any = None) -> Json:
        step = self.steps.pop(0)
        if isinstance(step, SluicegateError):
            raise step
        return {"items": step, "metadata": {"resourceVersion": "9"}}

    def changes(self, path: str, version: str | None, **_: Any) -> Iterator[tuple[str, Json]]:
        self.after.append(version)
        step = self.steps.pop(0)
        if isinstance(step, SluicegateError):
            raise step
        yield from step


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(watching, "sleep", found.append)
    return found


END = NotFound("the end of the test")


def told(script: Script) -> tuple[list[tuple[str, str]], list[str]]:
    """What a watch yields until the script's end, and what it says beside it."""
    notes: list[str] = []
    seen: list[tuple[str, str]] = []
    watch = watching.Watching(script, "/p", None, None, notes.append).run()
    try:
        for change, found in watch:
            seen.append((change, found["metadata"]["name"]))
    except NotFound:
        return seen, notes
    raise AssertionError("it ended")


def test_a_version_that_is_too_old_is_told_by_what_differs(pauses: list[float]) -> None:
    script = Script(
        [item("a", "1"), item("b", "2"), item("c", "3")],
        [("MODIFIED", item("a", "4"))],
        Conflict("410 Gone"),
        [item("a", "4"), item("b", "7"), item("d", "8")],
        END,
    )
    seen, notes = told(script)
    assert seen[:3] == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert seen[3:] == [("MODIFIED", "a"), ("MODIFIED", "b"), ("ADDED", "d"), ("DELETED", "c")]
    assert script.after == ["9", "4", "9"]
    assert notes == []


def test_a_bookmark_moves_the_version_and_is_not_told(pauses: list[float]) -> None:
    script = Script([], [("BOOKMARK", item("", "50"))], END)
    assert told(script) == ([], [])
    assert script.after == ["9", "50"]


def test_a_lost_server_is_told_once_and_may_forget_the_roles_for_a_while(pauses: list[float]) -> None:
    refused = Forbidden((Problem(path="x", message="not yet"),))
    lost = Unavailable("gone away")
    back = [("ADDED", item("a", "4"))]
    script = Script([], lost, lost, refused, back, lost, [("MODIFIED", item("a", "5"))], END)
    seen, notes = told(script)
    assert seen == [("ADDED", "a"), ("MODIFIED", "a")]
    assert notes == ["the connection was lost and is tried again: gone away"] * 2
    assert pauses[:3] == [0.5, 1.0, 2.0]


def test_a_refusal_without_a_lost_connection_ends_the_watch(pauses: list[float]) -> None:
    refused = Forbidden((Problem(path="x", message="not yet"),))
    with pytest.raises(Forbidden):
        list(watching.Watching(Script([], refused), "/p", None, None, pytest.fail).run())


class Halfway:
    """Accepts every rehearsal and refuses the second write."""

    def __init__(self) -> None:
        self.written = 0

    def get(self, plural: str, namespace: str, name: str) -> Json:
        raise NotFound(name)

    def exchange(
        self, method: str, path: str, *, query: Any = None, body: Any = None, **_: Any
    ) -> tuple[Json, tuple[str, ...]]:
        if not query["dryRun"]:
            self.written += 1
            if self.written == 2:
                raise Refused((Problem(path="spec", message="a policy came in between"),))
        return dict(body), ()


def test_what_is_refused_only_when_written_tells_what_was_done_before() -> None:
    applying = Applying(server=Halfway(), caller=lambda: "carol")
    rehearsed = applying.rehearse([objects.workflow("one"), objects.workflow("two")])
    with pytest.raises(Conflict) as caught:
        list(applying.carry_out(rehearsed))
    assert "agentworkflow/two was refused only when it was written, after agentworkflow/one" in str(
        caught.value
    )
