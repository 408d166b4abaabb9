"""From libyaml's events to plain JSON values, with lines, within limits."""

import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.limits import MAX_DEPTH, MAX_INTEGER, MAX_NODES, MAX_PROBLEMS
from sluicegate.contracts.paths import child
from sluicegate.contracts.suggestions import shown

_INT = re.compile(r"[-+]?[0-9]+\Z")
_OTHER_BASE = re.compile(r"0o([0-7]+)\Z|0x([0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?(\.inf|\.Inf|\.INF|Infinity)\Z|(\.nan|\.NaN|\.NAN|NaN)\Z")
"""Of YAML, and as other programs write them into JSON."""
_WORDS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = {f"{_TAG}{name}" for name in ("int", "float", "bool", "null")}
_TEXT_TAGS = {f"{_TAG}str", "!"}
_COLLECTION_TAGS = {f"{_TAG}map", f"{_TAG}seq", "!"}
_KEY_NEXT = object()


@dataclass(frozen=True, slots=True)
class Loaded:
    """The value of one document, where it begins, and the line and column of each field."""

    value: Any
    line: int
    lines: dict[str, int]
    columns: dict[str, int]


@dataclass(slots=True)
class _Open:
    """A collection that is not closed yet. key: of the value that comes next."""

    value: dict[str, Any] | list[Any]
    path: str
    anchor: str | None
    before: int  # nodes counted before it
    key: Any = _KEY_NEXT
    seen: set[str] = field(default_factory=set)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _column(event: yaml.Event) -> int:
    return event.start_mark.column + 1 if event.start_mark else 1


class Composer:
    """Reads one text once."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._problems: list[Problem] = []
        self._nodes = 0
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._lines: dict[str, int] = {}
        self._columns: dict[str, int] = {}
        self._root: Any = None

    def load(self) -> list[Loaded]:
        """All documents. Raises Refused with every problem, yaml.YAMLError where the syntax ends."""
        loaded = []
        for event in yaml.parse(self._text, Loader=yaml.CSafeLoader):
            match event:
                case yaml.DocumentStartEvent():
                    self._anchors, self._lines, self._columns, self._root = {}, {}, {}, None
                    line = _line(event)
                case yaml.DocumentEndEvent():
                    loaded.append(Loaded(self._root, line, self._lines, self._columns))
                case yaml.ScalarEvent():
                    self._scalar(event)
                case yaml.AliasEvent():
                    self._alias(event)
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    self._open(event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._close()
            if len(self._problems) >= MAX_PROBLEMS:
                break
        if self._problems:
            raise Refused(tuple(self._problems))
        return loaded

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._count(1, event)
        if self._expects_key():
            self._take_key(event.value, event)
            return
        path = self._next_path()
        value = self._resolve(event, path)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        self._add(value, path, event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if self._expects_key():
            self._problem(
                self._here(),
                "an alias cannot be a field name",
                event,
                value=f"*{event.anchor}",
                hint="write the name out",
            )
            self._stack[-1].key = None
            return
        path = self._next_path()
        target = self._anchors.get(event.anchor or "")
        if target is None:
            inside = event.anchor in self._anchors
            said = "an alias stands inside the value that it names" if inside else "unknown alias"
            self._problem(path, said, event, value=f"*{event.anchor}", hint="write the value out")
            self._add(None, path, event)
            return
        value, size = target
        self._count(size, event)
        self._add(value, path, event)

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        self._count(1, event)
        if len(self._stack) >= MAX_DEPTH:
            self._stop(
                "nested too deep",
                event,
                value=f"{len(self._stack) + 1} levels",
                allowed=f"at most {MAX_DEPTH} levels",
            )
        if self._expects_key():
            self._problem(
                self._here(), "a field name must be a text", event, value="a list or an object",
                hint="quote it if it is a text: {{…}} of a template, for instance",
            )  # fmt: skip
            path = self._here()
        else:
            path = self._next_path()
            self._check_tag(event, path, _COLLECTION_TAGS)
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        if event.anchor:
            self._anchors[event.anchor] = None
        self._add(value, path, event)
        self._stack.append(_Open(value, path, event.anchor, self._nodes))

    def _close(self) -> None:
        done = self._stack.pop()
        if done.anchor:
            self._anchors[done.anchor] = (done.value, self._nodes - done.before + 1)

    def _expects_key(self) -> bool:
        return (
            bool(self._stack) and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is _KEY_NEXT
        )

    def _here(self) -> str:
        return self._stack[-1].path if self._stack else ""

    def _next_path(self) -> str:
        if not self._stack:
            return ""
        top = self._stack[-1]
        return child(top.path, len(top.value) if isinstance(top.value, list) else str(top.key))

    def _take_key(self, key: str, event: yaml.ScalarEvent) -> None:
        top = self._stack[-1]
        if key in top.seen:
            self._problem(
                child(top.path, key), "given twice", event, value=shown(key), hint="remove one of the two"
            )
        elif key == "<<" and event.implicit[0]:
            self._problem(
                child(top.path, key), "merge keys are not read", event, value="<<",
                hint="write the fields out, or use an alias for a whole value",
            )  # fmt: skip
        self._written(child(top.path, key), event)
        top.seen.add(key)
        top.key = key

    def _add(self, value: Any, path: str, event: yaml.NodeEvent) -> None:
        if not self._stack:
            self._root = value
            return
        self._written(path, event)
        top = self._stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
            return
        if isinstance(top.key, str):
            top.value[top.key] = value
            top.key = _KEY_NEXT
        else:  # the name itself was refused: a name takes one turn, its value the next
            top.key = None if top.key is _KEY_NEXT else _KEY_NEXT

    def _written(self, path: str, event: yaml.NodeEvent) -> None:
        if path not in self._lines:
            self._lines[path], self._columns[path] = _line(event), _column(event)

    def _resolve(self, event: yaml.ScalarEvent, path: str) -> Any:
        text: str = event.value
        if event.tag in _TEXT_TAGS or (event.tag is None and not event.implicit[0]):
            return text
        self._check_tag(event, path, _PLAIN_TAGS)
        if text in _WORDS:
            return _WORDS[text]
        if _INT.match(text):
            return self._integer(text, 10, event, path)
        other = _OTHER_BASE.match(text)
        if other:
            return self._integer(other[1] or other[2], 8 if other[1] else 16, event, path)
        if _NOT_FINITE.match(text):
            self._problem(path, "must be a finite number", event, value=text, hint="quote it if it is a text")
        elif _FLOAT.match(text):
            number = float(text)
            if math.isfinite(number):
                return number
            self._problem(
                path, "must be a finite number", event, value=shown(text), hint="write a smaller number"
            )
        return text

    def _integer(self, digits: str, base: int, event: yaml.ScalarEvent, path: str) -> int | str:
        number = int(digits, base) if len(digits) <= 20 else MAX_INTEGER + 1
        if abs(number) <= MAX_INTEGER:
            return number
        self._problem(
            path, "the whole number is too large", event, value=shown(digits), allowed=f"±{MAX_INTEGER}",
            hint="quote it if it is a text",
        )  # fmt: skip
        return digits

    def _check_tag(self, event: yaml.NodeEvent, path: str, allowed: set[str]) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in allowed:
            self._problem(path, "tags are not read", event, value=shown(tag), hint="remove the tag")

    def _count(self, nodes: int, event: yaml.NodeEvent) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            self._stop(
                "the file holds too many values, aliases counted in full", event,
                value=f"more than {MAX_NODES}", allowed=f"at most {MAX_NODES}",
            )  # fmt: skip

    def _problem(self, path: str, message: str, event: yaml.NodeEvent, **facts: Any) -> None:
        self._problems.append(
            Problem(path=path, message=message, line=_line(event), source=self._source, **facts)
        )

    def _stop(self, message: str, event: yaml.NodeEvent, **facts: Any) -> None:
        self._problem(self._here()[:200], message, event, **({"hint": "split or flatten it"} | facts))
        raise Refused(tuple(self._problems))
