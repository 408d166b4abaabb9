"""`contract diff`: the objects of two sides, matched by kind and name, and what changed for those who rely on them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from sluicegate.console.contracting import git, reading
from sluicegate.console.contracting.checking import judged, refusals
from sluicegate.console.contracting.codes import NOT_PROVEN, REMOVED, RENAMED
from sluicegate.console.contracting.reading import Loaded, Read
from sluicegate.console.contracting.report import Finding, Report, Subject, unreadable
from sluicegate.console.contracting.words import LevelWord, Mode
from sluicegate.console.files import STDIN, SUFFIXES
from sluicegate.contracts.compatibility import Comparison, Level, Verdict, compare
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.documents import EMPTY, Document, is_syntax, load
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.parsing import placed
from sluicegate.contracts.resources import AgentWorkflow

TOOL = "contract diff"
CHECK = "compatibility"
_BETWEEN = re.compile(rb"^---(?=\s|\Z)", re.MULTILINE)


def report(old: str, new: Sequence[str], *, recursive: bool, level: LevelWord, mode: Mode) -> Report:
    """What `old` and all of `new` together differ in; `side` says how they are written."""
    if len(new) == 1:
        after = side(new[0], recursive=recursive)
    else:
        after = reading.files([Path(one) for one in new], recursive=recursive)
    before = side(old, recursive=recursive, beside=new)
    wanted = Level(level.value.capitalize())
    subjects = diff(before, after, level=wanted, mode=mode, where=", ".join(new))
    return Report(tool=TOOL, subjects=subjects, notes=after.notes)


def check_paths(new: Sequence[Path]) -> None:
    """Raises Refused for standard input: it has no former version, and is read only once."""
    if STDIN in new:
        hint = "write it into a file, and name that"
        raise Refused((Problem(path="-f", message="cannot be compared", value=str(STDIN), hint=hint),))


def side(text: str, *, recursive: bool, beside: Sequence[str] = ()) -> Loaded:
    """One side. text: a file or folder, ``git:<revision>:<path>``, or ``git:<revision>`` for the paths of `beside`.

    beside: the new side, when this is the old one. With ``git:<revision>`` files that were renamed since are found under
    their former names. When a revision has no documents of this product, the old side is empty: everything is new. A path
    of its own must be there. An old file of a revision that is no YAML is told and compared with nothing, if it is still
    there now; else it is refused, as all that holds more than can be told.
    """
    if not text.startswith(git.PREFIX):
        return reading.files([Path(text)], recursive=recursive)
    try:
        return _of_git(text, beside, recursive=recursive)
    except Refused as error:
        return Loaded(reads=(), unreadable=_from(error, text))


def _of_git(text: str, beside: Sequence[str], *, recursive: bool) -> Loaded:
    name, _, given = text.removeprefix(git.PREFIX).partition(":")
    at = git.revision(name)
    if given:
        files = git.listed(at, Path(given), recursive=recursive) or (Path(given),)
        wanted = _wanted(files, Path(given))
        kept = {file for file in wanted if any(_is_there(file, Path(given), one) for one in beside)}
        return _parsed(at, wanted, text, kept if beside else None)
    if not all(map(_has_path, beside or (text,))):
        raise Refused((Problem(path=text, message="a path is missing", hint=f"write {text}:workflow.yaml"),))
    files, kept = (), set()
    for path in map(Path, beside):
        found = _wanted(git.listed(at, path, recursive=recursive), path)
        former = git.earlier(at, path, recursive=recursive)
        renamed = _wanted(former, path) if path.is_dir() else former
        kept |= {*renamed, *(file for file in found if file.is_file())}
        files += found + renamed
    return _parsed(at, files, text, kept)


def _has_path(new: str) -> bool:
    """Whether `new` says where its former version may be: another revision's path, and standard input, do not."""
    return not new.startswith(git.PREFIX) and Path(new) != STDIN


def _is_there(file: Path, given: Path, new: str) -> bool:
    """Whether `file` of the old side `given` has one in its place on the new side."""
    if new.startswith(git.PREFIX):
        name, _, path = new.removeprefix(git.PREFIX).partition(":")
        return file in git.listed(git.revision(name), Path(path))
    if git.seen(file) == git.seen(given):
        return (Path(new) / file.name if Path(new).is_dir() else Path(new)).is_file()
    return (Path(new) / PurePosixPath(file).relative_to(git.seen(given))).is_file()


def _wanted(files: tuple[Path, ...], named: Path) -> tuple[Path, ...]:
    """As a folder is read: by suffix, but for the very file that was named."""
    return tuple(file for file in files if file.suffix in SUFFIXES or PurePosixPath(file) == git.seen(named))


def _parsed(at: git.Revision, files: tuple[Path, ...], where: str, kept: set[Path] | None) -> Loaded:
    """kept: of an old side, the files that are still there; None for a new side."""
    unread: list[Problem] = []
    broken: list[Problem] = []
    found = list(_documents(at, files, unread, broken, kept))
    loaded = reading.parsed(found, unread, where=where, may_be_empty=kept is not None)
    return replace(loaded, broken=tuple(broken))


def _documents(
    at: git.Revision,
    files: tuple[Path, ...],
    unread: list[Problem],
    broken: list[Problem],
    kept: set[Path] | None,
) -> Iterator[Document]:
    """unread, broken: filled with what cannot be read, and with what never could be where it is still there."""
    for file in files:
        source, content = f"{git.PREFIX}{at.name}:{file}", b""
        try:
            content = git.content(at, file)
            yield from load(content, source=source)
        except Refused as error:
            problems = _from(error, source)
            if kept is not None and problems[0].message == EMPTY:
                continue
            is_broken = kept is not None and file in kept and _is_no_yaml(problems, content)
            (broken if is_broken else unread).extend(problems)


def _is_no_yaml(problems: tuple[Problem, ...], content: bytes) -> bool:
    """Whether the syntax is wrong, and in every document of the file: none could have been applied."""
    return is_syntax(problems) and not any(map(_is_readable, _BETWEEN.split(content)))


def _is_readable(content: bytes) -> bool:
    try:
        load(content)
    except Refused as error:
        return not (is_syntax(error.problems) or error.problems[0].message == EMPTY)
    return True


def _from(error: Refused, source: str) -> tuple[Problem, ...]:
    return tuple(replace(one, source=one.source or source) for one in error.problems)


def diff(old: Loaded, new: Loaded, *, level: Level, mode: Mode, where: str) -> tuple[Subject, ...]:
    """A subject for each workflow of either side, and one for each file that could not be read; an old one only warns.

    where: the file or folder of the new side, to which what is no longer there belongs. Objects that are no workflows are
    read, so that nothing broken is passed over, and not compared.
    """
    lost = tuple(unreadable(problem) for side in (old, new) for problem in side.unreadable)
    files = {problem.source: problem for problem in reversed(old.broken)}  # the first of each
    return (
        *lost,
        *(_broken(problem, where) for problem in reversed(files.values())),
        *_compared(old, new, level, mode, where),
    )


def _compared(old: Loaded, new: Loaded, level: Level, mode: Mode, where: str) -> Iterator[Subject]:
    pairs, left = _pairs(list(_workflows(old)), list(_workflows(new)), may_guess=not old.broken)
    for former, read in pairs:
        if former is None and old.unreadable:
            yield _subject(read, (), checks=(), skipped=(CHECK,))  # it may be in what could not be read
        else:
            yield _pair(former, read, level, mode)
    for former in left:
        found = refusals(former)
        if found:
            lost = judged(replace(_lost(former, found), source=where, line=1), mode, former.name)
            yield _not_compared(former, lost)
        elif not new.unreadable:
            yield _subject(former, (_removed(former, where),))


def _workflows(side: Loaded) -> Iterator[Read]:
    return (read for read in side.reads if read.problems or isinstance(read.resource, AgentWorkflow))


def _pairs(
    old: list[Read], new: list[Read], *, may_guess: bool
) -> tuple[list[tuple[Read | None, Read]], list[Read]]:
    """Each new one with its former one, and the old ones that are left.

    By kind and name; of several with one name by their file, by the name of it, then in order. One alone on each side is a pair,
    whatever its name, if one `may_guess`: all of the old side is known.
    """
    if may_guess and len(old) == len(new) == 1:
        return [(old[0], new[0])], []
    former: dict[int, Read] = {}
    for is_pair in (_same_path, _same_file, _same_name):
        for number, read in enumerate(new):
            found = [one for one in old if number not in former and is_pair(one, read)]
            if found:
                former[number] = found[0]
                old.remove(found[0])
    return [(former.get(number), read) for number, read in enumerate(new)], old


def _same_path(old: Read, new: Read) -> bool:
    return old.name == new.name and _path(old) == _path(new)


def _same_file(old: Read, new: Read) -> bool:
    return old.name == new.name and _path(old).rpartition("/")[2] == _path(new).rpartition("/")[2]


def _same_name(old: Read, new: Read) -> bool:
    return old.name == new.name


def _path(read: Read) -> str:
    """Of its file, without the revision."""
    source = read.document.source
    return source.split(":", 2)[2] if source.startswith(git.PREFIX) else source


def _pair(old: Read | None, new: Read, level: Level, mode: Mode) -> Subject:
    refused, lost = refusals(new), refusals(old) if old else ()
    if refused:
        return _subject(new, (*lost, *refused), checks=("parsing", "verification"), skipped=(CHECK,))
    if old is not None and lost:
        return _not_compared(new, judged(placed(_lost(old, lost), new.document), mode, new.name))
    if old is None:
        return _subject(new, (), remarks=("new: there is nothing that it could break",))
    assert isinstance(old.resource, AgentWorkflow)  # noqa: S101 - without refusals it is one
    assert isinstance(new.resource, AgentWorkflow)  # noqa: S101
    comparison = compare(old.resource, new.resource, level=level)
    diagnostics = [judged(placed(one, new.document), mode, new.name) for one in comparison.diagnostics]
    if comparison.verdict is not Verdict.COMPATIBLE and not comparison.errors:
        diagnostics.append(judged(placed(_not_proven(comparison), new.document), mode, new.name))
    if old.name != new.name:
        diagnostics.insert(0, _renamed(old, new))
    findings = tuple(Finding(diagnostic=one, check=CHECK) for one in diagnostics)
    return replace(
        _subject(new, findings, remarks=tuple(_remarks(old, comparison))), facts=_facts(old, comparison)
    )


def _subject(read: Read, findings: tuple[Finding, ...], **others: Any) -> Subject:
    source, checks = read.document.source, others.pop("checks", (CHECK,))
    return Subject(name=read.name, source=source, checks=checks, findings=findings, **others)


def _not_compared(read: Read, diagnostic: Diagnostic) -> Subject:
    finding = Finding(diagnostic=diagnostic, check="parsing")
    return _subject(read, (finding,), checks=("parsing", "verification"), skipped=(CHECK,))


def _lost(old: Read, refusals: tuple[Finding, ...]) -> Diagnostic:
    """Of an old version that would be refused now. It can be waived: else nothing could ever replace it."""
    first = refusals[0].diagnostic
    told = f"{first.path}: {first.message}" if first.path else first.message
    return Diagnostic(
        code=NOT_PROVEN,
        severity=Severity.ERROR,
        path="",
        message=f"the old version in {old.document.source} would be refused, so nothing was compared: {told}",
        witness=told,
        hint="compare with the last version that was taken, or waive this until a day",
    )


def _broken(problem: Problem, where: str) -> Subject:
    """Of an old file that is no YAML: nobody could have applied it, so that what comes in its place breaks nothing."""
    diagnostic = Diagnostic(
        code=NOT_PROVEN,
        severity=Severity.WARNING,
        path="",
        message=f"the old file {problem.source} cannot be read, so what is in it now counts as new: {problem.message}",
        witness=problem.message,
        hint="compare with the last revision in which it could be read",
        subject=problem.source or "",
        source=where,
        line=1,
    )
    finding = Finding(diagnostic=diagnostic, check="parsing")
    return Subject(name="", source=problem.source or where, checks=("parsing",), findings=(finding,))


def _removed(old: Read, where: str) -> Finding:
    diagnostic = Diagnostic(
        code=REMOVED,
        severity=Severity.ERROR,
        path="",
        message=f"{old.name} is no longer there; it was in {old.document.source}",
        hint="keep it until nobody calls it, or waive this with a day on which that is so",
        subject=old.name,
        source=where,
        line=1,
    )
    return Finding(diagnostic=diagnostic, check=CHECK)


def _renamed(old: Read, new: Read) -> Diagnostic:
    diagnostic = Diagnostic(
        code=RENAMED,
        severity=Severity.ERROR,
        path="metadata.name",
        message=f"{old.name} is now {new.name}: callers use the old name",
        witness=old.name,
        hint="keep the name and raise spec.version",
        subject=new.name,
    )
    return placed(diagnostic, new.document)


def _not_proven(comparison: Comparison) -> Diagnostic:
    """A verdict never passes for want of a reason."""
    return Diagnostic(
        code=NOT_PROVEN,
        severity=Severity.ERROR,
        path="spec",
        message=f"{comparison.old} → {comparison.new} is {comparison.verdict.value}, and no single change says why",
        hint="compare smaller changes, or waive this until a day",
    )


def _remarks(old: Read, comparison: Comparison) -> Iterator[str]:
    yield (
        f"{comparison.old} ({old.document.source}) → {comparison.new}: {comparison.verdict.value}, "
        f"level {comparison.level.value}"
    )
    for consumer in comparison.consumers:
        if consumer.reasons:
            yield f"{consumer.name}: {consumer.verdict.value} ({', '.join(dict.fromkeys(consumer.reasons))})"


def _facts(old: Read, comparison: Comparison) -> dict[str, Any]:
    return {
        "old": {"version": comparison.old, "source": old.document.source},
        "new": {"version": comparison.new},
        "level": comparison.level.value,
        "verdict": comparison.verdict.value,
        "consumers": [
            {"name": one.name, "verdict": one.verdict.value, "reasons": list(one.reasons)}
            for one in comparison.consumers
        ],
    }
