"""Conditions and mappings: plain paths as getters, everything else as CEL.

`steps.plan.intent` becomes a closure over dict access; the rest is compiled once by cel-expr-python (the C++
implementation of CEL, with its limits on depth and iterations). Only this module and cel_syntax know CEL.
A CEL evaluation gets only those parts of the scope that the expression names, so its cost does not grow with
the rest of the input.

Compiled expressions are immutable and may be shared by threads.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from sluicegate.contracts import cel_syntax, cel_tree
from sluicegate.contracts.cel_syntax import ANY_INDEX, Path
from sluicegate.contracts.cel_tree import Node, Reference
from sluicegate.contracts.errors import SluicegateError
from sluicegate.contracts.suggestions import closest, listed

ROOTS = ("input", "steps", "run", "headers")
MAX_LENGTH = 4096
VARIABLE_TYPES = ("string", "int", "double", "bool", "dyn")
"""CEL's types that `compile_over` gives to variables; ``dyn`` may be anything."""

Scope = Mapping[str, Any]
Evaluate = Callable[[Scope], Any]

_PATH = re.compile(r'[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[(?:0|[1-9]\d{0,8})\]|\["[^"\\\n]*"\])*', re.ASCII)
_SEGMENT = re.compile(r'\[(\d+)\]|\["([^"]*)"\]|\.?(\w+)', re.ASCII)
_CEL_ERROR = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
_CEL_STATUS = re.compile(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_MAX_DEPTH = 64
_ROOT_VARIABLES = tuple((root, "dyn") for root in ROOTS)


class ExpressionError(SluicegateError):
    """The expression is wrong, or cannot be evaluated on what is there. `column` counts from 1."""

    reason = "ExpressionError"

    def __init__(self, message: str, *, column: int | None = None, hint: str | None = None) -> None:
        self.message = message
        self.column = column
        self.hint = hint
        super().__init__(f"{message}; hint: {hint}" if hint else message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """An expression, ready to evaluate.

    evaluate(scope) gives a JSON value or raises ExpressionError. references: paths from a root, an index as
    ``[]``. guards: the references that the expression tests with has(). result_type: CEL's static type,
    ``dyn`` when unknown. A getter returns the very object found in the scope, not a copy.
    """

    text: str
    is_path: bool
    references: tuple[Path, ...]
    guards: tuple[Path, ...] = ()
    result_type: str = "dyn"
    steps: tuple[str, ...] = ()  # names of the steps that it refers to, in order
    syntax: bytes = field(default=b"", compare=False, repr=False)  # of CEL, for `tree`
    evaluate: Evaluate = field(compare=False, repr=False)

    @property
    def is_constant(self) -> bool:
        """Gives the same value whatever the scope."""
        return not self.references


@lru_cache(maxsize=8192)
def compile_expression(text: str) -> Compiled:
    """Compile once. Raises ExpressionError with the column of the mistake."""
    _check_length(text)
    stripped = text.strip()
    if _PATH.fullmatch(stripped):
        keys = _keys(stripped)
        if keys[0] in ROOTS:
            names = tuple(ANY_INDEX if isinstance(key, int) else key for key in keys)
            return Compiled(
                text=text,
                is_path=True,
                references=(names,),
                steps=_steps_in((names,)),
                evaluate=_getter(stripped, keys),
            )
    return _compile_cel(text, _ROOT_VARIABLES)


def compile_over(text: str, variables: Mapping[str, str]) -> Compiled:
    """CEL over variables of the caller's own (name → one of VARIABLE_TYPES) instead of the roots, checked against their types.

    Raises ExpressionError with the column of the mistake.
    """
    _check_length(text)
    return _compile_cel(text, tuple(variables.items()))


def _check_length(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"is {len(text)} characters long, at most {MAX_LENGTH} are allowed")


def _steps_in(references: tuple[Path, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path[1] for path in references if path[0] == "steps" and len(path) > 1))


def tree(compiled: Compiled) -> Node:
    """How the expression is made up, for those who reason about it without running it."""
    return Reference(_keys(compiled.text.strip())) if compiled.is_path else _tree_of(compiled.syntax)


@lru_cache(maxsize=8192)
def _tree_of(syntax: bytes) -> Node:
    return cel_tree.read(syntax)


def _keys(path: str) -> tuple[str | int, ...]:
    return tuple(
        int(index) if index else name or quoted
        for index, quoted, name in (found.groups() for found in _SEGMENT.finditer(path))
    )


def _getter(text: str, keys: tuple[str | int, ...]) -> Evaluate:
    if any(isinstance(key, int) for key in keys):
        return _indexing_getter(text, keys)

    def get(scope: Scope) -> Any:
        value: Any = scope
        try:
            for key in keys:
                value = value[key]
        except (KeyError, TypeError, IndexError):
            raise _absent(text, keys, scope) from None
        return value

    return get


def _indexing_getter(text: str, keys: tuple[str | int, ...]) -> Evaluate:
    def get(scope: Scope) -> Any:
        value: Any = scope
        for key in keys:
            if isinstance(key, int) and not isinstance(value, list | tuple):  # a text has indices, too
                raise _absent(text, keys, scope)
            try:
                value = value[key]
            except (KeyError, TypeError, IndexError):
                raise _absent(text, keys, scope) from None
        return value

    return get


def _absent(text: str, keys: tuple[str | int, ...], scope: Scope) -> ExpressionError:
    """Names the first part of the path that is not there, and what is."""
    value: Any = scope
    so_far = ""
    for key in keys:
        there = isinstance(value, Mapping) and isinstance(key, str) and key in value
        there = there or (isinstance(value, list | tuple) and isinstance(key, int) and key < len(value))
        if not there:
            return ExpressionError(f"{text}: {_missing(so_far, key, value)}")
        value = value[key]
        so_far += f"[{key}]" if isinstance(key, int) else f".{key}" if so_far else key
    return ExpressionError(f"{text}: cannot be read")


def _missing(so_far: str, key: str | int, value: Any) -> str:
    where = so_far or "the scope"
    if isinstance(value, Mapping):
        why = " (a step that was skipped or has not run is absent)" if so_far == "steps" else ""
        return f"{where} has no {key}{why}; there is: {listed(map(str, value), limit=12) or 'nothing'}"
    if isinstance(value, list | tuple):
        return f"{where} is a list of {len(value)}, it has no {key}"
    return f"{where} is {_type_name(value)}, it has no {key}"


def _type_name(value: Any) -> str:
    names: dict[type, str] = {
        type(None): "null",
        bool: "a boolean",
        str: "a text",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), type(value).__name__)


_Variables = tuple[tuple[str, str], ...]


@lru_cache(maxsize=64)
def _environment(variables: _Variables) -> Any:
    """One environment for all that have these variables; it is not changed after this."""
    from cel_expr_python import cel  # type: ignore[import-untyped]  # noqa: PLC0415 - plain paths do without

    types = {name: getattr(cel.Type, type_name.upper()) for name, type_name in variables}
    return cel.NewEnv(variables=types), cel.Type.ERROR


def _compile_cel(text: str, variables: _Variables) -> Compiled:
    environment, error_type = _environment(variables)
    roots = tuple(name for name, _ in variables)
    try:
        program = environment.compile(text)
    except (RuntimeError, TypeError, ValueError) as error:
        raise _syntax_error(text, str(error), environment, roots) from None
    syntax = program.serialize()
    names = cel_syntax.names_in(syntax)
    references = tuple(dict.fromkeys(path for path in names.references if path[0] in roots))
    needed = _tree(references)

    def evaluate(scope: Scope) -> Any:
        data = {root: _project(scope[root], below) for root, below in needed.items() if root in scope}
        _check_carried(data, text)
        try:
            result = program.eval(data=data)
            value = result.plain_value()
        except (RuntimeError, TypeError, ValueError) as error:
            raise ExpressionError(f"{text}: {_CEL_STATUS.sub('', str(error))}") from error
        if result.type() == error_type:
            raise _evaluation_error(text, str(value), references, scope)
        return _json(value, text)

    return Compiled(
        text=text,
        is_path=False,
        references=references,
        guards=tuple(dict.fromkeys(names.guards)),
        result_type=program.return_type().name().lower(),
        steps=_steps_in(references),
        syntax=syntax,
        evaluate=evaluate,
    )


_Tree = dict[str, Any]


def _tree(references: tuple[Path, ...]) -> _Tree:
    """What of the scope is needed; None below a name means all of it."""
    tree: _Tree = {}
    for path in references:
        _grow(tree, path)
    return tree


def _grow(tree: _Tree, path: Path) -> None:
    *above, last = path[: path.index(ANY_INDEX)] if ANY_INDEX in path else path
    for name in above:
        below = tree.setdefault(name, {})
        if below is None:
            return
        tree = below
    tree[last] = None


def _project(value: Any, needed: _Tree | None) -> Any:
    if needed is None or not isinstance(value, dict):
        return value
    return {name: _project(value[name], below) for name, below in needed.items() if name in value}


def _check_carried(data: dict[str, Any], text: str) -> None:
    """The binding cuts texts at a NUL character, silently; better no value than another one.

    The search is in the JSON text because that is far faster than a walk; `\\\\u0000` may also be a backslash that
    was written so, which is then told apart by the walk.
    """
    try:
        found = b"\\u0000" in orjson.dumps(data)
    except TypeError as error:
        raise ExpressionError(
            f"{text}: {error}", hint="CEL takes JSON with whole numbers of 64 bits"
        ) from None
    if found and _holds_nul(data):
        raise ExpressionError(
            f"{text}: a text holds a NUL character", hint="name a smaller part of it, or clean it"
        )


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any(_holds_nul(key) or _holds_nul(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(map(_holds_nul, value))


def _json(value: Any, text: str, depth: int = 0) -> Any:
    """Plain JSON, or an error: CEL also has times, durations, bytes, types and maps with other keys.

    CEL's maps have no order of their own; here they have that of their keys.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if depth < _MAX_DEPTH:
        if isinstance(value, list):
            return [_json(item, text, depth + 1) for item in value]
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {key: _json(value[key], text, depth + 1) for key in sorted(value)}
    raise ExpressionError(
        f"{text}: gives {_type_name(value)}, which is not JSON",
        hint="convert it, for instance with string(…)",
    )


def _evaluation_error(text: str, message: str, references: tuple[Path, ...], scope: Scope) -> ExpressionError:
    if message.startswith("NOT_FOUND") or "found in Activation" in message:
        for path in references:
            keys = path[: path.index(ANY_INDEX)] if ANY_INDEX in path else path
            if not _is_there(keys, scope):
                absent = _absent(".".join(keys), keys, scope)
                return ExpressionError(f"{text}: {absent.message}", hint="test it with has(…) first")
    hint = None
    if "No matching overloads" in message and "double" in message and "int64" in message:
        hint = "CEL does not mix whole and decimal numbers: write 1.0, or double(…)"
    return ExpressionError(f"{text}: {_CEL_STATUS.sub('', message)[:300]}", hint=hint)


def _is_there(path: Path, scope: Scope) -> bool:
    value: Any = scope
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True


def _syntax_error(text: str, message: str, environment: Any, roots: tuple[str, ...]) -> ExpressionError:
    unknown = _unknown_root(text, message, environment, roots)
    if unknown is not None:
        near = closest(unknown, roots)
        return ExpressionError(
            f"unknown name {unknown}; there is {listed(roots)}",
            column=text.find(unknown) + 1,
            hint=f"did you mean {near}?" if near else None,
        )
    found = _CEL_ERROR.search(message)
    if found is None:
        return ExpressionError(_CEL_STATUS.sub("", message.partition("\n")[0])[:300])
    column = int(found[2])
    return ExpressionError(
        _CEL_STATUS.sub("", found[3])[:300], column=column if column > 0 and found[1] == "1" else None
    )


def _unknown_root(text: str, message: str, environment: Any, roots: tuple[str, ...]) -> str | None:
    """The name that is not a root; CEL itself reports the whole path as one undeclared reference."""
    undeclared = _UNDECLARED.search(message)
    if undeclared is None:
        return None
    references = cel_syntax.names_in(environment.compile(text, disable_check=True).serialize()).references
    for path in references:
        if path[0] not in roots and undeclared[1].lstrip(".").split(".")[0] == path[0]:
            return path[0]
    return None
