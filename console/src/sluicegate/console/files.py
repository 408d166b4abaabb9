"""Reading -f: files, folders, standard input; every problem of every file at once."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sluicegate.contracts.errors import Problem, Refused

if TYPE_CHECKING:
    from sluicegate.contracts.documents import Document
    from sluicegate.contracts.resources import AgentWorkflow

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = Path("-")


def read(paths: Sequence[Path], *, recursive: bool = False) -> tuple[dict[str, Any], ...]:
    """The objects in `paths`, parsed and verified here, so that problems carry their file and line.

    Raises Refused with the problems of all files; then nothing was sent.
    """
    from sluicegate.contracts.parsing import located, parse
    from sluicegate.contracts.resources import AgentWorkflow
    from sluicegate.contracts.verification import verify

    problems: list[Problem] = []
    objects: list[dict[str, Any]] = []
    for document in documents(paths, problems, recursive=recursive):
        try:
            resource = parse(document)
        except Refused as error:
            problems += error.problems
            continue
        found = verify(resource) if isinstance(resource, AgentWorkflow) else ()
        problems += [located(problem, document.lines, document.source) for problem in found]
        objects.append(document.data)
    if problems:
        raise Refused(tuple(problems))
    if not objects:
        raise Refused((Problem(path="-f", message="no documents", value=", ".join(map(str, paths))),))
    return tuple(objects)


def only_workflow(path: Path) -> "AgentWorkflow":
    """The one AgentWorkflow of a file. Raises Refused with every problem in it."""
    from sluicegate.contracts.parsing import parse_data
    from sluicegate.contracts.resources import AgentWorkflow

    found = [one for one in map(parse_data, read([path])) if isinstance(one, AgentWorkflow)]
    if len(found) != 1:
        raise Refused(
            (Problem(path=str(path), message="exactly one AgentWorkflow is needed", value=str(len(found))),)
        )
    return found[0]


def documents(paths: Iterable[Path], problems: list[Problem], *, recursive: bool) -> "Iterator[Document]":
    """The documents of all files; what cannot be read is added to `problems`."""
    from sluicegate.contracts.documents import load

    for path in paths:
        for file in _files(path, problems, recursive=recursive):
            try:
                yield from load(_bytes(file), source=str(file))
            except OSError as error:
                problems.append(_unreadable(file, error.strerror or str(error)))
            except Refused as error:
                problems += error.problems


def _files(path: Path, problems: list[Problem], *, recursive: bool) -> list[Path]:
    if not path.is_dir():
        return [path]
    entries = path.rglob("*") if recursive else path.iterdir()
    try:
        found = sorted(entry for entry in entries if entry.suffix in SUFFIXES and entry.is_file())
    except OSError as error:
        problems.append(_unreadable(path, error.strerror or str(error)))
        return []
    if not found:
        problems.append(_unreadable(path, f"no {', '.join(SUFFIXES)} file in this folder"))
    return found


def _bytes(file: Path) -> bytes:
    """At most one byte more than the limit of a file, which is then refused by the loader."""
    from sluicegate.contracts.limits import MAX_BYTES

    if file == STDIN:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    with file.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _unreadable(path: Path, why: str) -> Problem:
    return Problem(path=str(path), message=why, hint="check the path given with -f")
