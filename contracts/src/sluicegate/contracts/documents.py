"""Loading of YAML and JSON files that may be hostile.

The text is read as a stream of libyaml events, never through YAML constructors: depth, size and the growth by
aliases are bounded before anything is built. Scalars follow the core schema of YAML 1.2 (section 10.3.2), so `on`,
`yes` and dates are texts. JSON is read the same way for its lines and limits, and by a JSON parser
for its values, since YAML is not quite a superset. Every mistake is reported, at once where the syntax allows it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.json_text import json_value, looks_like_json, refused, syntax_problem
from sluicegate.contracts.limits import MAX_BYTES, MAX_PROBLEMS
from sluicegate.contracts.suggestions import shown
from sluicegate.contracts.yaml_events import Composer, Loaded

EMPTY = "the file is empty"
"""Message of the problem of a file without a document."""
_WRITTEN_AS_JSON = re.compile(r'[\[{\s]*"')
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One resource as written. lines, columns: field path -> line, column, from 1; source: the file's name, or "-"."""

    data: dict[str, Any]
    lines: Mapping[str, int]
    columns: Mapping[str, int] = field(default_factory=dict)
    source: str = "-"


def load(text: bytes | str, *, source: str = "-") -> tuple[Document, ...]:
    """All documents of a file. Raises Refused with every problem found; nothing else, whatever the input."""
    content = _decoded(text, source)
    return _documents(_read(content, source), source)


def is_syntax(problems: tuple[Problem, ...]) -> bool:
    """Whether `load` refused a text because it is no YAML, and not because of what it holds."""
    return all(problem.message.startswith(("not valid YAML: ", "not valid JSON: ")) for problem in problems)


def _read(content: str, source: str) -> list[Loaded]:
    """YAML; or, where it is JSON as well, the values as JSON has them, with YAML's lines when it could tell them."""
    loaded: list[Loaded] = []
    failed: yaml.YAMLError | None = None
    try:
        loaded = Composer(content, source).load()
    except yaml.YAMLError as error:
        failed = error
    if looks_like_json(content) and len(loaded) < 2:
        try:
            value = json_value(content, source)
        except json.JSONDecodeError as error:
            if failed is not None and _WRITTEN_AS_JSON.match(content):
                raise Refused((syntax_problem(error, source),)) from None
        else:
            return [replace(item, value=value) for item in loaded] or [Loaded(value, 1, {}, {})]
    if failed is not None:
        raise Refused((_syntax_problem(failed, content, source),))
    return loaded


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
    documents: list[Document] = []
    problems: list[Problem] = []
    for item in (part for whole in loaded for part in _unlisted(whole)):
        if isinstance(item.value, dict):
            documents.append(Document(data=item.value, lines=item.lines, columns=item.columns, source=source))
        elif item.value is not None:
            problems.append(_not_an_object(item, source))
    if problems:
        raise Refused(tuple(problems[:MAX_PROBLEMS]))
    if not documents:
        raise refused(EMPTY, source, value="no document", hint="`sluicegate init` writes a first one")
    return tuple(documents)


def _unlisted(whole: Loaded) -> list[Loaded]:
    """The items of a ``kind: List``, as `get -o yaml` prints several objects; else the document itself."""
    value = whole.value
    if not (isinstance(value, dict) and value.get("kind") == "List" and isinstance(value.get("items"), list)):
        return [whole]
    parts = [Loaded(item, whole.line, {}, {}) for item in value["items"]]
    for path, line in whole.lines.items():
        index, closed, below = path.removeprefix("items[").partition("]")
        if not (path.startswith("items[") and closed):
            continue
        if below:
            name = below.removeprefix(".")
            parts[int(index)].lines[name], parts[int(index)].columns[name] = line, whole.columns[path]
        else:
            parts[int(index)] = replace(parts[int(index)], line=line)
    return parts


def _not_an_object(item: Loaded, source: str) -> Problem:
    return Problem(
        path="",
        message="the document is not an object",
        value=shown(item.value),
        allowed="an object with apiVersion, kind, metadata and spec",
        hint="is this the right file?",
        line=item.line,
        source=source,
    )


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
