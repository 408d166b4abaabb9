"""`apply` on a cluster: all documents are asked about before the first is written.

Server-side apply per document, field manager `sluicegate-cli`. A rehearsal (dryRun=All) of every document comes first, so that
a refusal of any of them leaves everything as it was; only a change by others in between can stop it halfway, which is said.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sluicegate.console.client import Applied, Object, path_of
from sluicegate.contracts.errors import Conflict, Forbidden, NotFound, Problem, Refused, SluicegateError
from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.resources.base import API_VERSION, CHANGED_BY

MANAGER = "sluicegate-cli"
DECISION = "Decision"
CONTENT_TYPE = "application/apply-patch+yaml"
_KEPT = ("labels", "annotations", "ownerReferences", "finalizers")


class Server(Protocol):
    """What applying needs of a client."""

    def get(self, plural: str, namespace: str, name: str) -> Object:
        """The object, or NotFound."""
        ...

    def exchange(
        self, method: str, path: str, *, query: Any = None, body: object = None, content_type: str = ...
    ) -> tuple[Object, tuple[str, ...]]:
        """The answer and its warnings."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Applying:
    """One apply. caller: the user's name, asked for only when it is needed."""

    server: Server
    caller: Callable[[], str]
    force: bool = False

    def rehearse(self, documents: Sequence[Object]) -> list[tuple[Object, Applied]]:
        """What would become of each, with the document as it must be sent; every problem of every document at once."""
        problems: list[Problem] = []
        kinds: set[type[SluicegateError]] = set()
        rehearsed: list[tuple[Object, Applied]] = []
        others: list[SluicegateError] = []
        for document in documents:
            try:
                rehearsed.append(self._rehearse(document))
            except Refused as error:
                kinds.add(type(error))
                problems += [_of(document, one, several=len(documents) > 1) for one in error.problems]
            except (Conflict, NotFound) as error:
                others.append(type(error)(f"{_label(document)}: {error}"))
        if problems:
            problems += [Problem(path=_label_of(one), message=_rest_of(one)) for one in others]
            raise (Forbidden if Forbidden in kinds else Refused)(tuple(problems))
        if others:
            raise type(others[0])("\n".join(map(str, others)))
        return rehearsed

    def carry_out(self, rehearsed: Sequence[tuple[Object, Applied]]) -> Iterator[Applied]:
        """Write what was rehearsed, in order."""
        done: list[str] = []
        for document, expected in rehearsed:
            if document["kind"] == DECISION and expected.operation == "unchanged":
                yield expected
                continue
            try:
                stored, _ = self._send(document, dry_run=False)
            except SluicegateError as error:
                if not done:
                    raise
                text = f"{_label(document)} was refused only when it was written, after {', '.join(done)}: {error}"
                raise Conflict(text) from error
            done.append(_label(document))
            yield Applied(
                operation=expected.operation,
                object=stored,
                previous=expected.previous,
                warnings=expected.warnings,
            )

    def _rehearse(self, document: Object) -> tuple[Object, Applied]:
        held = self._held(document)
        if held is not None and document["kind"] == DECISION:
            return document, _kept(document, held)
        sent, (found, warnings) = self._tried(document, held)
        operation = "created" if held is None else "unchanged" if _same(held, found) else "configured"
        return sent, Applied(operation=operation, object=found, previous=held, warnings=warnings)

    def _tried(self, document: Object, held: Object | None) -> tuple[Object, tuple[Object, tuple[str, ...]]]:
        """The document as it is sent, and the answer. Who made the present spec stays its author while it does not change."""
        is_workflow = held is not None and document["kind"] == "AgentWorkflow"
        before = _author(held) if held is not None and is_workflow else None
        if held is not None and before not in {
            None,
            _author(document),
            self.caller() if is_workflow else None,
        }:
            sent = self._signed(document, before)
            try:
                answer = self._send(sent, dry_run=True)
            except Refused:
                pass  # for another author, or for good: the caller's own attempt tells
            else:
                if answer[0].get("spec") == held.get("spec"):
                    return sent, answer
        sent = self._signed(document, None)
        return sent, self._send(sent, dry_run=True)

    def _held(self, document: Object) -> Object | None:
        try:
            return self.server.get(*_place(document))
        except NotFound:
            return None

    def _signed(self, document: Object, author: str | None) -> Object:
        """What the caller must say of themselves: policies compare it, and with the operator away nobody fills it in."""
        sent = {
            "apiVersion": API_VERSION,
            **{key: value for key, value in document.items() if key != "status"},
        }
        if document["kind"] == DECISION:
            return owned({**sent, "spec": {"decidedBy": self.caller(), **document["spec"]}})
        if document["kind"] != "AgentWorkflow":
            return sent
        metadata = document["metadata"]
        annotations = {CHANGED_BY: author or self.caller(), **(metadata.get("annotations") or {})}
        return {**sent, "metadata": {**metadata, "annotations": annotations}}

    def _send(self, document: Object, *, dry_run: bool) -> tuple[Object, tuple[str, ...]]:
        query = {
            "fieldManager": MANAGER,
            "fieldValidation": "Strict",
            "dryRun": "All" if dry_run else None,
        }
        plural, namespace, name = _place(document)
        if document["kind"] == DECISION:  # who may decide may create, and nothing else
            return self.server.exchange("POST", path_of(plural, namespace), query=query, body=document)
        query["force"] = str(self.force).lower()
        return self.server.exchange(
            "PATCH", path_of(plural, namespace, name), query=query, body=document, content_type=CONTENT_TYPE
        )


def _kept(document: Object, held: Object) -> Applied:
    """A decision that is there already; Refused when this is another one of its name."""
    same = all(held["spec"].get(key) == value for key, value in document["spec"].items())
    if not same:
        problem = Problem(path="spec", message="a Decision is immutable", hint="create another one")
        raise Refused((problem,))
    return Applied(operation="unchanged", object=held, previous=held)


def owned(decision: Object) -> Object:
    """A decision belongs to what it is about, and goes with it."""
    target = decision["spec"].get("target") or {}
    if decision["metadata"].get("ownerReferences") or not {"name", "uid"} <= target.keys():
        return decision
    reference = {
        "apiVersion": API_VERSION,
        "kind": target.get("kind", "WorkflowRollout"),
        "name": target["name"],
        "uid": target["uid"],
    }
    return {**decision, "metadata": {**decision["metadata"], "ownerReferences": [reference]}}


def _same(held: Object, found: Object) -> bool:
    """Nothing that means something differs; managed fields and versions do not."""
    metadata = ({key: item["metadata"].get(key) or None for key in _KEPT} for item in (held, found))
    return held.get("spec") == found.get("spec") and len({str(one) for one in metadata}) == 1


def _author(item: Object) -> str | None:
    found = (item["metadata"].get("annotations") or {}).get(CHANGED_BY)
    return str(found) if found else None


def _place(document: Object) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return KINDS[document["kind"]].plural, metadata["namespace"], metadata["name"]


def _label(document: Object) -> str:
    return f"{document['kind'].lower()}/{document['metadata']['name']}"


def _label_of(error: SluicegateError) -> str:
    return str(error).partition(": ")[0]


def _rest_of(error: SluicegateError) -> str:
    return str(error).partition(": ")[2]


def _of(document: Object, problem: Problem, *, several: bool) -> Problem:
    """With the document's name in front, when there are several."""
    if not several:
        return problem
    return Problem(
        path=f"{_label(document)} {problem.path}",
        message=problem.message,
        value=problem.value,
        allowed=problem.allowed,
        hint=problem.hint,
    )
