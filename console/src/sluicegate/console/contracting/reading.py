"""What is checked: documents of files, folders and git revisions, each with all of its problems; nothing is dropped."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluicegate.console.files import documents
from sluicegate.contracts.documents import Document
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.parsing import parse
from sluicegate.contracts.resources.base import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One document, and the resource that it describes or the problems because of which it describes none."""

    document: Document
    resource: Resource | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """``AgentWorkflow/support-bot``, as far as it is written."""
        metadata = self.document.data.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return f"{self.document.data.get('kind', '?')}/{name or '?'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """All documents of some files. unreadable: problems of files of which no document is known."""

    reads: tuple[Read, ...]
    unreadable: tuple[Problem, ...] = ()


def files(paths: Sequence[Path], *, recursive: bool = False) -> Loaded:
    """The documents of files and folders. No document at all is a problem."""
    problems: list[Problem] = []
    reads = parsed(documents(paths, problems, recursive=recursive))
    if not reads and not problems:
        problems.append(Problem(path="-f", message="no documents", value=", ".join(map(str, paths))))
    return Loaded(reads=reads, unreadable=tuple(problems))


def parsed(documents: Iterable[Document]) -> tuple[Read, ...]:
    """Each document as a resource, or its problems."""
    return tuple(map(_parsed, documents))


def _parsed(document: Document) -> Read:
    try:
        return Read(document=document, resource=parse(document))
    except Refused as error:
        return Read(document=document, problems=error.problems)
