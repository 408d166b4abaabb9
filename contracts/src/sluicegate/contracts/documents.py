"""Loading of YAML and JSON files that may be hostile.

The text is read as a stream of libyaml events, never through YAML constructors: depth, size and the growth by
aliases are bounded before anything is built. Scalars follow the core schema of YAML 1.2 (section 10.3.2), so `on`,
`yes` and dates are texts. JSON is read the same way, with a second try by a JSON parser for what YAML does not
know (tabs, surrogate pairs). Every mistake is reported, at once where the syntax allows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.json_text import load_json, looks_like_json, refused
from sluicegate.contracts.limits import MAX_BYTES
from sluicegate.contracts.yaml_events import Composer, Loaded

_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One resource as written. lines: field path -> line, from 1; source: the file's name, or "-"."""

    data: dict[str, Any]
    lines: Mapping[str, int]
    source: str = "-"


def load(text: bytes | str, *, source: str = "-") -> tuple[Document, ...]:
    """All documents of a file. Raises Refused with every problem found; nothing else, whatever the input."""
    content = _decoded(text, source)
    try:
        loaded = Composer(content, source).load()
    except yaml.YAMLError as error:
        if not looks_like_json(content):
            raise Refused((_syntax_problem(error, content, source),)) from None
        loaded = [load_json(content, source)]
    return _documents(loaded, source)


def _decoded(text: bytes | str, source: str) -> str:
    size = len(text)
    if size > MAX_BYTES:
        raise refused(
            "the file is too large",
            source,
            value=f"{size} bytes",
            allowed=f"at most {MAX_BYTES} bytes",
            hint="split it into files",
        )
    if isinstance(text, bytes):
        text = _utf8(text, source)
    if not _is_unicode(text):
        raise refused("the text holds half of a surrogate pair", source, value="a surrogate", allowed="UTF-8")
    at = text.find("\x00")
    if at >= 0:
        line = text.count("\n", 0, at) + 1
        raise refused(
            "the file holds a NUL byte", source, value="NUL", hint="it is not a text file", line=line
        )
    return text.removeprefix("\ufeff")


def _utf8(content: bytes, source: str) -> str:
    if content.startswith(_BYTE_ORDER_MARKS):
        raise refused("the file is not UTF-8", source, value="UTF-16", allowed="UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start
        value = f"byte 0x{content[at]:02x} at offset {at}"
        line = content.count(b"\n", 0, at) + 1
        raise refused("the file is not UTF-8", source, value=value, allowed="UTF-8", line=line) from None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _documents(loaded: list[Loaded], source: str) -> tuple[Document, ...]:
    documents = []
    problems = []
    for item in loaded:
        if isinstance(item.value, dict):
            documents.append(Document(data=item.value, lines=item.lines, source=source))
        elif item.value is not None:
            problems.append(
                Problem(
                    path="",
                    message="the document is not an object",
                    value=type(item.value).__name__,
                    allowed="an object with apiVersion, kind, metadata and spec",
                    hint="is this the right file?",
                    line=item.line,
                    source=source,
                )
            )
    if problems:
        raise Refused(tuple(problems))
    if not documents:
        raise refused(
            "the file is empty", source, value="no document", hint="`sluicegate init` writes a first one"
        )
    return tuple(documents)


def _syntax_problem(error: yaml.YAMLError, content: str, source: str) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    column = f"column {mark.column + 1}" if mark else "the text"
    hint = "check indentation, quotes and brackets near this line"
    if mark and "\t" in "".join(content.split("\n", mark.line + 1)[mark.line : mark.line + 1]):
        hint = "indent with spaces, not tabs"
    return Problem(
        path="",
        message=f"not valid YAML: {said}",
        value=column,
        hint=hint,
        line=mark.line + 1 if mark else None,
        source=source,
    )
