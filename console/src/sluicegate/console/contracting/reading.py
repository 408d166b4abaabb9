"""What is checked: documents of files, folders and git revisions, each with all of its problems; nothing is dropped."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluicegate.console.files import documents
from sluicegate.console.output import plural
from sluicegate.contracts.documents import Document
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.parsing import parse
from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.resources.base import API_VERSION, GROUP, Resource
from sluicegate.contracts.suggestions import closest


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
    """All documents of this product in some files.

    unreadable: problems of files of which no document is known; broken: of files of an old revision that are no YAML, and
    count for nothing. others: documents of other products, passed over.
    """

    reads: tuple[Read, ...]
    unreadable: tuple[Problem, ...] = ()
    broken: tuple[Problem, ...] = ()
    others: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """For people."""
        return (f"{plural(self.others, 'object')} of other products passed over",) if self.others else ()


def files(paths: Sequence[Path], *, recursive: bool = False) -> Loaded:
    """The documents of files and folders."""
    problems: list[Problem] = []
    return parsed(documents(paths, problems, recursive=recursive), problems, where=", ".join(map(str, paths)))


def parsed(
    documents: Iterable[Document], problems: list[Problem], *, where: str, may_be_empty: bool = False
) -> Loaded:
    """Each document as a resource, or its problems. `problems`: filled while documents are read.

    That there is none of this product is a problem, unless it `may_be_empty`: it must not read as a clean result.
    """
    found = list(documents)
    own = [document for document in found if not _is_foreign(document)]
    if not (own or problems or may_be_empty):
        allowed = f"at least one of apiVersion {API_VERSION}"
        said = "no document of this product"
        hint = "is this the right file?"
        problems = [
            Problem(path=where, message=said, value=plural(len(found), "object"), allowed=allowed, hint=hint)
        ]
    return Loaded(reads=tuple(map(_parsed, own)), unreadable=tuple(problems), others=len(found) - len(own))


def _is_foreign(document: Document) -> bool:
    """An object of Kubernetes or of another product: neither its group nor its kind is ours, misspelled or not."""
    version, kind = document.data.get("apiVersion"), document.data.get("kind")
    if not (isinstance(version, str) and isinstance(kind, str)):
        return False
    group = version.partition("/")[0]
    return closest(group, (GROUP,)) is None and closest(kind, KINDS) is None


def _parsed(document: Document) -> Read:
    try:
        return Read(document=document, resource=parse(document))
    except Refused as error:
        return Read(document=document, problems=error.problems)
