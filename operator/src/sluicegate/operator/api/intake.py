"""From what a person sends to what is stored: parse, admit, write. Nothing is half-applied.

Every document is parsed and admitted before the first is written; all problems of all documents are told at
once. The write carries the resourceVersions that were admitted against, so a change in between is a Conflict
and the whole intake is done again on a fresh read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar

import orjson

from sluicegate.contracts.documents import load
from sluicegate.contracts.errors import Conflict, Forbidden, NotFound, Problem, Refused
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import KINDS, Decision, Kind
from sluicegate.contracts.resources.base import API_VERSION, CHANGED_BY, Resource
from sluicegate.operator.api.callers import Peer
from sluicegate.operator.ports import Json
from sluicegate.operator.resources import objects
from sluicegate.operator.resources.store import Verb, Write
from sluicegate.operator.resources.watch import LocalStore
from sluicegate.rollout.model import Admission, Ref

_TRIES = 5
R = TypeVar("R")


class Operation(StrEnum):
    """What a request did to an object."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """One document's fate. previous: the stored object before, None when it is new."""

    operation: Operation
    item: Json
    previous: Json | None
    warnings: tuple[str, ...] = ()


class Admitter(Protocol):
    """The rules of `rollout.admission`, with what they need gathered."""

    async def admit(self, old: Resource | None, new: Resource | None, peer: Peer) -> Admission:
        """May `peer` change `old` into `new`? new None: a deletion."""
        ...


class Mode(StrEnum):
    """What the person asked for."""

    APPLY = "Apply"  # create or update
    CREATE = "Create"
    REPLACE = "Replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    ref: Ref
    wanted: Json
    held: Json | None
    resource: Resource

    @property
    def operation(self) -> Operation:
        if self.held is None:
            return Operation.CREATED
        same = objects.updated(self.held, _current(self.held, self.wanted), version=0) is None
        return Operation.UNCHANGED if same else Operation.CONFIGURED


@dataclass(frozen=True, slots=True)
class Intake:
    """Writes of people."""

    store: LocalStore
    admitter: Admitter
    tries: int = field(default=_TRIES, kw_only=True)

    async def put(
        self, documents: Sequence[Any], peer: Peer, *, mode: Mode = Mode.APPLY, dry_run: bool = False
    ) -> tuple[Applied, ...]:
        """All documents in one commit; dry_run: what would be stored. Refused, Forbidden, Conflict, NotFound."""
        return await self._again(lambda: self._put(documents, peer, mode=mode, dry_run=dry_run))

    async def delete(self, ref: Ref, peer: Peer, *, uid: str | None = None, dry_run: bool = False) -> Json:
        """Ask for deletion; the object as marked."""
        return await self._again(lambda: self._delete(ref, peer, uid=uid, dry_run=dry_run))

    async def _again(self, attempt: Callable[[], Awaitable[R]]) -> R:
        """A conflict with somebody else's write is no answer to a person: read afresh and try again."""
        for left in reversed(range(self.tries)):
            try:
                return await attempt()
            except _Moved as moved:
                if not left:
                    raise Conflict(str(moved)) from moved
        raise AssertionError

    async def _put(
        self, documents: Sequence[Any], peer: Peer, *, mode: Mode, dry_run: bool
    ) -> tuple[Applied, ...]:
        drafts = await self._drafts(documents, peer, mode)
        verdicts = [await self._admit(draft, peer) for draft in drafts]
        found = _placed([verdict.problems for verdict in verdicts])
        if found:
            raise (Forbidden if any(verdict.forbidden for verdict in verdicts) else Refused)(found)
        operations = [draft.operation for draft in drafts]
        pending = [
            draft for draft, done in zip(drafts, operations, strict=True) if done is not Operation.UNCHANGED
        ]
        try:
            stored = iter(await self.store.write((_write(draft) for draft in pending), dry_run=dry_run))
        except (Conflict, NotFound) as error:
            raise _Moved(str(error)) from error
        return tuple(
            Applied(
                operation=operation,
                item=draft.held if operation is Operation.UNCHANGED and draft.held else next(stored),
                previous=draft.held,
                warnings=verdict.warnings,
            )
            for draft, operation, verdict in zip(drafts, operations, verdicts, strict=True)
        )

    async def _drafts(self, documents: Sequence[Any], peer: Peer, mode: Mode) -> list[_Draft]:
        drafts: list[_Draft] = []
        problems: list[tuple[Problem, ...]] = []
        for document in documents:
            try:
                drafts.append(await self._draft(document, peer, mode))
                problems.append(())
            except Refused as refused:
                problems.append(refused.problems)
        problems.append(_repeated(drafts))
        if found := _placed(problems):
            raise Refused(found)
        return drafts

    async def _draft(self, document: Any, peer: Peer, mode: Mode) -> _Draft:
        wanted = _filled(document, peer)
        # In a thread: a document at the limits takes a second to read, and the API must go on answering.
        resource = await asyncio.to_thread(_read, wanted)
        kind_for_people(resource.kind)
        ref = Ref(resource.kind, resource.metadata.namespace, resource.metadata.name)
        held = await self._held(ref)
        if mode is Mode.CREATE and held is not None:
            raise Conflict(f"{ref} exists already")
        if mode is Mode.REPLACE and held is None:
            raise NotFound(f"{ref} does not exist")
        if held is not None:
            objects.expect_current(held, wanted)
        same = held is not None and _spec(parse_data(held)) == _spec(resource)
        merged = _merged(held, wanted, peer, keep=mode is Mode.APPLY, same=same)
        wanted = _belonging(merged, resource)
        return _Draft(ref=ref, wanted=wanted, held=held, resource=parse_data(_bare(wanted)))

    async def _admit(self, draft: _Draft, peer: Peer) -> Admission:
        old = parse_data(draft.held) if draft.held else None
        return await self.admitter.admit(old, draft.resource, peer)

    async def _delete(self, ref: Ref, peer: Peer, *, uid: str | None, dry_run: bool) -> Json:
        kind_for_people(ref.kind)
        held = await self.store.get(ref)
        if uid and held["metadata"]["uid"] != uid:
            raise Conflict(f"{ref} was deleted and made again meanwhile")
        verdict = await self.admitter.admit(parse_data(held), None, peer)
        if verdict.problems:
            raise (Forbidden if verdict.forbidden else Refused)(verdict.problems)
        gone = {"kind": ref.kind, "metadata": {**held["metadata"]}}
        try:
            return (await self.store.write((Write(verb=Verb.DELETE, item=gone),), dry_run=dry_run))[0]
        except Conflict as error:
            raise _Moved(str(error)) from error

    async def _held(self, ref: Ref) -> Json | None:
        try:
            return await self.store.get(ref)
        except NotFound:
            return None


def _read(wanted: Json) -> Resource:
    """The resource, within the same bounds (size, depth, nodes) as a file."""
    return parse_data(load(orjson.dumps(wanted))[0].data)


class _Moved(Exception):  # noqa: N818 - a signal inside this module
    """Somebody else wrote between our read and our write."""


def kind_for_people(name: str) -> Kind:
    """The kind, or Forbidden when only the operator makes it."""
    kind = KINDS[name]
    if not kind.applied_by_people:
        problem = Problem(
            path="kind",
            message="objects of this kind are made by the operator only",
            value=name,
            allowed=", ".join(sorted(one.name for one in KINDS.values() if one.applied_by_people)),
        )
        raise Forbidden((problem,))
    return kind


def _filled(document: Any, peer: Peer) -> Json:
    """The document with what the server knows better: status is not theirs, a decision is the caller's."""
    if not isinstance(document, dict):
        shown = type(document).__name__
        raise Refused(
            (Problem(path="", message="not an object", value=shown, allowed="a mapping with kind"),)
        )
    filled = {key: value for key, value in document.items() if key != "status"}
    spec = filled.get("spec")
    if filled.get("kind") == "Decision" and isinstance(spec, dict):
        filled["spec"] = {**spec, "decidedBy": _decider(spec.get("decidedBy"), peer)}
    return filled


def _decider(named: Any, peer: Peer) -> Any:
    """The caller, unless another person was named: admission refuses that."""
    return peer.name if named in {None, "", peer.user if not peer.acting_as else peer.acting_as} else named


def _spec(resource: Resource) -> Any:
    return getattr(resource, "spec", None)


def _merged(held: Json | None, wanted: Json, peer: Peer, *, keep: bool, same: bool) -> Json:
    """`wanted` with the metadata that is not the person's. keep: apply leaves others' annotations in place; same:
    the spec is, and so its author.
    """
    metadata = dict(wanted.get("metadata") or {})
    metadata.setdefault("namespace", "default")
    old = held["metadata"] if held else {}
    given = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != CHANGED_BY}
    before = old.get("annotations") or {}
    author = before.get(CHANGED_BY, peer.name) if same else peer.name
    metadata["annotations"] = {**(before if keep else {}), **given, CHANGED_BY: author}
    if keep and held is not None:
        for name in ("finalizers", "ownerReferences"):
            metadata[name] = metadata.get(name) or old.get(name) or []
    return {"apiVersion": API_VERSION, **wanted, "metadata": metadata}


def _belonging(wanted: Json, resource: Resource) -> Json:
    """A decision belongs to what it is about, and goes with it."""
    if not isinstance(resource, Decision):
        return wanted
    owner = resource.spec.target.model_dump(mode="json")
    return {**wanted, "metadata": {**wanted["metadata"], "ownerReferences": [owner]}}


def _current(held: Json, wanted: Json) -> Json:
    """`wanted`, made from exactly `held`."""
    system = {key: held["metadata"][key] for key in ("uid", "resourceVersion")}
    return {**wanted, "metadata": {**wanted["metadata"], **system}}


def _bare(wanted: Json) -> Json:
    return {key: value for key, value in wanted.items() if key != "status"}


def _write(draft: _Draft) -> Write:
    if draft.held is None:
        return Write(verb=Verb.CREATE, item=draft.wanted)
    return Write(verb=Verb.UPDATE, item=_current(draft.held, draft.wanted))


def _repeated(drafts: Sequence[_Draft]) -> tuple[Problem, ...]:
    seen: set[Ref] = set()
    again = [draft.ref for draft in drafts if draft.ref in seen or seen.add(draft.ref)]  # type: ignore[func-returns-value]
    return tuple(
        Problem(
            path="metadata.name", message="two documents of this request are the same object", value=str(ref)
        )
        for ref in again
    )


def _placed(problems: Sequence[tuple[Problem, ...]]) -> tuple[Problem, ...]:
    """All problems in one list."""
    return tuple(problem for group in problems for problem in group)
