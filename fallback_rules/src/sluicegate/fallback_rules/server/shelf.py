"""The rule sets of a folder, read again when a file changes. What cannot be used never replaces what answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.documents import Document, load
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.limits import MAX_BYTES
from sluicegate.contracts.parsing import located, parse
from sluicegate.contracts.resources import FallbackRuleSet
from sluicegate.fallback_rules.proof import prove
from sluicegate.fallback_rules.table import Table, compile_table

DEFAULT_NAMESPACE = "default"
SUFFIXES = (".yaml", ".yml", ".json")

Stamp = tuple[int, int, int]
"""Inode, size, nanoseconds of the last change."""


class Key(NamedTuple):
    """Of a rule set."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A rule set that answers."""

    key: Key
    table: Table
    source: str

    @property
    def version(self) -> str:
        """As its author calls it."""
        return self.table.spec.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a file gave: what serves of it, and why the newest content does not."""

    stamp: Stamp
    served: tuple[Served, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """All files. Of two rule sets with one name the one whose file comes first in the alphabet answers."""

    files: Mapping[Path, Read] = field(default_factory=dict)
    sets: Mapping[Key, Served] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def read(folder: Path, before: Shelf) -> Shelf:
    """The folder now. The same Shelf when nothing changed. Raises Refused when the folder cannot be listed."""
    known = {path: one.stamp for path, one in before.files.items()}
    stamps = dict(_stamps(folder, known))
    if stamps == known:
        return before
    files = {
        path: before.files[path] if known.get(path) == stamp else _file(path, stamp, before.files.get(path))
        for path, stamp in stamps.items()
    }
    return _shelf(files)


def _stamps(folder: Path, known: Mapping[Path, Stamp]) -> Iterator[tuple[Path, Stamp]]:
    """Hidden entries are left out: a ConfigMap's volume keeps its older contents there. A file that is there and cannot
    be looked at is as it was."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "name a folder with FallbackRuleSets as YAML or JSON"
        raise Refused((Problem(path="--rules", message=reason, value=str(folder), hint=hint),)) from error
    for path in entries:
        if path.name.startswith(".") or path.suffix not in SUFFIXES:
            continue
        try:
            found = path.stat()
        except FileNotFoundError:
            continue  # gone between the two calls
        except OSError:
            if path in known:
                yield path, known[path]
            continue
        yield path, (found.st_ino, found.st_size, found.st_mtime_ns)


def _file(path: Path, stamp: Stamp, before: Read | None) -> Read:
    """All of a file or nothing: of a file with a mistake the earlier sets go on."""
    try:
        return Read(stamp=stamp, served=_sets(path))
    except Refused as refused:
        return Read(stamp=stamp, served=before.served if before else (), problems=refused.problems)


def _sets(path: Path) -> tuple[Served, ...]:
    source = path.name
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Refused((Problem(path="", message=error.strerror or str(error), source=source),)) from error
    problems: list[Problem] = []
    served = []
    for document in load(content, source=source):
        try:
            served.append(_set(document))
        except Refused as refused:
            problems += refused.problems
    if problems:
        raise Refused(tuple(problems))
    return tuple(served)


def _set(document: Document) -> Served:
    resource = parse(document)
    if not isinstance(resource, FallbackRuleSet):
        problem = Problem(
            path="kind",
            message="is no rule set",
            value=str(document.data.get("kind")),
            allowed="FallbackRuleSet",
            hint="keep other kinds in another folder",
        )
        raise Refused((located(problem, document.lines, document.source),))
    try:
        table = compile_table(resource.spec)
    except Refused as refused:
        raise Refused(
            tuple(located(one, document.lines, document.source) for one in refused.problems)
        ) from refused
    key = Key(resource.metadata.namespace or DEFAULT_NAMESPACE, resource.metadata.name)
    broken = [one for one in prove(table).diagnostics if one.severity is Severity.ERROR]
    if broken:
        raise Refused(tuple(located(_problem(one), document.lines, document.source) for one in broken))
    return Served(key=key, table=table, source=document.source)


def _problem(found: Diagnostic) -> Problem:
    return Problem(
        path=found.path,
        message=f"{found.code}: {found.message}",
        value=found.witness,
        hint=found.hint,
    )


def _shelf(files: Mapping[Path, Read]) -> Shelf:
    sets: dict[Key, Served] = {}
    problems: list[Problem] = []
    for one in files.values():
        problems += one.problems
        for served in one.served:
            first = sets.setdefault(served.key, served)
            if first is not served:
                problems.append(
                    Problem(
                        path="metadata.name",
                        message=f"{served.key} is given twice; the one of {first.source} answers",
                        source=served.source,
                        hint="remove one of them",
                    )
                )
    return Shelf(files=files, sets=sets, problems=tuple(problems))
