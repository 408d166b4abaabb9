"""Waivers: findings that somebody answers for, until a day. Reading, matching and adding are pure; `read` opens the file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from sluicegate.console.contracting.codes import EXPIRED
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.documents import Document, load
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.explanations import explain
from sluicegate.contracts.parsing import located
from sluicegate.contracts.resources.base import Model, Text

FILE = Path(".sluicegate/waivers.yaml")
Fingerprint = Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{16}$")]


def _day(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"must be a day of the calendar, such as 2027-01-31 ({error})") from None
    if isinstance(value, date):
        return value
    raise ValueError("must be a day, such as 2027-01-31")


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("must say something")
    return value


Said = Annotated[Text, BeforeValidator(lambda value: _said(value) if isinstance(value, str) else value)]
Day = Annotated[date, BeforeValidator(_day)]


class Waiver(Model):
    """A finding that does not fail the build until a day."""

    fingerprint: Fingerprint | None = None
    """Of one finding, as every output shows it."""
    code: Annotated[str, Field(strict=True, pattern=r"^[A-Z][A-Za-z0-9]*$")] | None = None
    """Instead of the fingerprint, with `path`: of any finding of this kind there."""
    path: Said | None = None
    """Where, `spec.steps[2].when` or `spec.steps[plan].when`; `*` stands for any text."""
    subject: Said | None = None
    """Only of this object, `AgentWorkflow/support-bot`; `*` stands for any text."""
    owner: Said
    """Who answers for it."""
    reason: Said
    """Why it may stay until then."""
    expires: Day
    """The last day (UTC) on which it holds."""

    @model_validator(mode="after")
    def _names_something(self) -> "Waiver":
        if self.fingerprint is None and (self.code is None or self.path is None):
            raise ValueError("needs a fingerprint, or a code and a path")
        if self.fingerprint is not None and (self.code, self.path) != (None, None):
            raise ValueError("takes a fingerprint, or a code and a path, not both")
        return self

    def covers(self, diagnostic: Diagnostic) -> bool:
        """Whether it names this finding; expired or not."""
        if self.subject is not None and not _matches(self.subject, diagnostic.subject):
            return False
        if self.fingerprint is not None:
            return self.fingerprint in diagnostic.fingerprints
        places = (diagnostic.path, diagnostic.place or diagnostic.path)
        return self.code == diagnostic.code and any(_matches(self.path or "", one) for one in places)

    def expired(self, today: date) -> bool:
        """Whether its last day is over."""
        return today > self.expires

    @property
    def what(self) -> str:
        """The finding it names, for people."""
        named = self.fingerprint or f"{self.code} at {self.path}"
        return f"{named} of {self.subject}" if self.subject else named


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), text, re.DOTALL) is not None


class _File(Model):
    schema_version: Literal["1"] = "1"
    waivers: tuple[Waiver, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Waivers:
    """A file of waivers. document: as written, for lines; None when there is no file."""

    entries: tuple[Waiver, ...] = ()
    document: Document | None = None

    def covering(self, diagnostic: Diagnostic, today: date) -> Waiver | None:
        """The first that covers it: one that holds, else one that is over."""
        found = [entry for entry in self.entries if entry.covers(diagnostic)]
        return next((entry for entry in found if not entry.expired(today)), found[0] if found else None)

    def expiry(self, waiver: Waiver, today: date) -> Diagnostic:
        """What is said of one that is over, and would have been needed."""
        path = f"waivers[{self.entries.index(waiver)}].expires"
        document = self.document
        line = document.lines.get(path) if document else None
        return Diagnostic(
            code=EXPIRED,
            severity=Severity.ERROR,
            path=path,
            message=f"the waiver of {waiver.owner} for {waiver.what} ended on {waiver.expires}, and today is {today}",
            witness=waiver.what,
            hint=f"repair what was found; or ask {waiver.owner} whether it may stay, and write a later day",
            subject=f"Waivers/{waiver.owner}",
            source=document.source if document else None,
            line=line,
            column=document.columns.get(path) if document else None,
        )


def read(path: Path | None) -> Waivers:
    """The waivers of a file; none when no path is given and there is no file at the usual place.

    Raises Refused with every problem of every entry, each with its line.
    """
    where = path or FILE
    try:
        return parse(where.read_bytes(), source=str(where))
    except FileNotFoundError as error:
        if path is None:
            return Waivers()
        hint = "create it with `sluicegate contract waive`"
        raise Refused(
            (Problem(path="--waivers", message="no such file", value=str(path), hint=hint),)
        ) from error


def parse(content: bytes, *, source: str) -> Waivers:
    """The same of what a file holds. A file with nothing but comments has no waivers."""
    if not any(_meaningful(line) for line in content.splitlines()):
        return Waivers()
    documents = load(content, source=source)
    if len(documents) != 1:
        raise Refused(
            (Problem(path="", message="more than one document", hint="keep one list", source=source),)
        )
    document = documents[0]
    try:
        file = _File.model_validate(document.data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True)
        problems = explain(found, _File, document.data)
        raise Refused(tuple(located(one, document.lines, source) for one in problems)) from error
    return Waivers(entries=file.waivers, document=document)


def _meaningful(line: bytes) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith(b"#") and stripped != b"---"


def entry(**facts: Any) -> Waiver:
    """An entry. Raises Refused with everything that is wrong with it."""
    try:
        return Waiver.model_validate(facts)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True)
        raise Refused(tuple(explain(found, Waiver, facts))) from error


def added(content: str, waiver: Waiver, *, source: str) -> str:
    """The text of the file with one more entry at its end; what is there stays as it is, comments included.

    Raises Refused when the list is written so that nothing can be put behind it, with the lines to write by hand.
    """
    before = parse(content.encode(), source=source)
    head = content if not content or content.endswith("\n") else content + "\n"
    if "waivers" not in (before.document.data if before.document else {}):
        head += "waivers:\n"
    after = head + _entry(waiver, _indent(content))
    try:
        found = parse(after.encode(), source=source).entries
    except Refused:
        found = ()
    if found == (*before.entries, waiver):
        return after
    raise Refused(
        (
            Problem(
                path="waivers",
                message="the list does not end the file, or is written in brackets; nothing was changed",
                hint=f"write by hand:\n{_entry(waiver, '')}",
                source=source,
            ),
        )
    )


def _indent(content: str) -> str:
    """How far the last entry of the list is indented."""
    found = re.findall(r"^( *)- ", content, re.MULTILINE)
    return found[0] if found else ""


def _entry(waiver: Waiver, indent: str) -> str:
    from sluicegate.console import output

    lines = output.as_yaml([waiver.to_json()]).replace("'" + str(waiver.expires) + "'", str(waiver.expires))
    return "".join(f"{indent}{line}\n" for line in lines.splitlines())


def unused(waivers: Waivers, used: Sequence[Waiver], today: date) -> Iterator[str]:
    """A line for each waiver that covered nothing."""
    for entry in waivers.entries:
        if entry not in used:
            over = f"; it ended on {entry.expires}" if entry.expired(today) else ""
            yield f"the waiver of {entry.owner} for {entry.what} covers nothing here{over}"
