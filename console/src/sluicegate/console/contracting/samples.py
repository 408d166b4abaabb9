"""What components were given and what they answered, from recorded runs of several formats."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.limits import MAX_DEPTH

MAX_BYTES: Final = 512 * 1024 * 1024
AGENT: Final = "agent"
_TOLD: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One call. answered: whether `output` is its answer; of a call without one nothing is known of the output."""

    component: str
    input: Any
    output: Any = None
    answered: bool = True


def read(path: Path, format: str | None = None) -> tuple[Sample, ...]:
    """The calls of a file of JSON or JSON lines, plain or gzipped, in its order. format: one of FORMATS; None: found out.

    Raises Refused when the file cannot be read, or holds no call.
    """
    runs = list(_values(path))
    name = format or next((one for one, known in _SIGNS.items() if runs and known(runs[0])), "")
    if name not in FORMATS:
        raise _refused(path, "--format", "is not known", format or "no sign of one", ", ".join(FORMATS))
    found = [sample for run in runs for sample in FORMATS[name](run)]
    if not found:
        raise _refused(path, str(path), f"holds no call of a component, read as {name}", None, None)
    return tuple(found)


def _values(path: Path) -> Iterator[Any]:
    """The runs of a file: the items of its list, or of its lines."""
    text = _text(path)
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        yield from _lines(path, text)
        return
    if _depth(whole) > MAX_DEPTH:
        raise _refused(path, str(path), "is nested too deep", None, f"at most {MAX_DEPTH} levels")
    yield from whole if isinstance(whole, list) else (whole,)


def _lines(path: Path, text: str) -> Iterator[Any]:
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.append(Problem(path="", message=f"is not JSON: {error}", source=str(path), line=number))
            continue
        if _depth(value) > MAX_DEPTH:
            problems.append(Problem(path="", message="is nested too deep", source=str(path), line=number))
            continue
        yield value
    if problems:
        raise Refused(tuple(problems[:_TOLD]))


def _depth(value: Any) -> int:
    """Levels of lists and objects; counted up to one more than are allowed."""
    level, deep = [value], 0
    while level and deep <= MAX_DEPTH:
        level = [
            item
            for one in level
            if isinstance(one, list | dict)
            for item in (one if isinstance(one, list) else one.values())
        ]
        deep += 1
    return deep


def _text(path: Path) -> str:
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _refused(path, str(path), f"cannot be read: {error}", None, None) from error
    if len(data) > MAX_BYTES:
        raise _refused(path, str(path), "is too large", None, f"at most {MAX_BYTES} bytes")
    return data.decode(errors="replace")


def _refused(path: Path, where: str, message: str, value: str | None, allowed: str | None) -> Refused:
    hint = "recorded runs: tau-bench results, Responses API rollouts, or `sluicegate run show RUN -o json`"
    return Refused(
        (Problem(path=where, message=message, value=value, allowed=allowed, hint=hint, source=str(path)),)
    )


def _tau_bench(run: Any) -> Iterator[Sample]:
    """Chat messages with tool calls: github.com/sierra-research/tau-bench."""
    messages = [one for one in _list(run, "traj") if isinstance(one, dict)]
    for position, message in enumerate(messages):
        calls = [_function(call) for call in _list(message, "tool_calls")]
        if message.get("role") == "assistant":
            yield _turn(_words(message.get("content")), calls)
        following = messages[position + 1 : position + 1 + len(calls)]
        for offset, (call, (name, arguments)) in enumerate(
            zip(_list(message, "tool_calls"), calls, strict=True)
        ):
            told = _answer_to(_get(call, "id"), following, offset)
            yield Sample(component=name, input=arguments, output=_json(told), answered=told is not None)


def _answer_to(call: Any, following: list[dict[str, Any]], offset: int) -> Any:
    """The answer that names the call; of answers that name none, the one at its place."""
    tools = [one for one in following if one.get("role") == "tool"]
    named = [one for one in tools if isinstance(call, str) and one.get("tool_call_id") == call]
    if named:
        return named[0].get("content")
    here = following[offset] if offset < len(following) else {}
    is_free = here.get("role") == "tool" and here.get("tool_call_id") in (None, call)
    return here.get("content") if is_free else None


def _responses(run: Any) -> Iterator[Sample]:
    """Output items of the Responses API, as rollouts of NeMo Gym hold them."""
    items = [one for one in _list(_get(run, "response"), "output") if isinstance(one, dict)]
    answers = {
        one["call_id"]: one.get("output")
        for one in items
        if one.get("type") == "function_call_output" and isinstance(one.get("call_id"), str)
    }
    for item in items:
        if item.get("type") == "message":
            yield _turn(_words(item.get("content")), [])
        if item.get("type") != "function_call":
            continue
        name, arguments = str(item.get("name")), _json(item.get("arguments"))
        yield _turn("", [(name, arguments)])
        call = item.get("call_id")
        told = answers.get(call) if isinstance(call, str) else None
        yield Sample(component=name, input=arguments, output=_json(told), answered=told is not None)


def _own(run: Any) -> Iterator[Sample]:
    """Run documents of this product; only steps that the component itself answered say what it answers."""
    for step in _list(run, "steps"):
        if isinstance(step, dict) and step.get("request") is not None:
            yield Sample(
                component=str(step.get("component")),
                input=step["request"],
                output=step.get("response"),
                answered=step.get("outcome") == "Succeeded" and not step.get("fallback"),
            )


FORMATS: Final[Mapping[str, Callable[[Any], Iterator[Sample]]]] = {
    "tau-bench": _tau_bench,
    "responses": _responses,
    "runs": _own,
}
_SIGNS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "tau-bench": lambda run: isinstance(run, dict) and "traj" in run,
    "responses": lambda run: isinstance(_get(run, "response"), dict),
    "runs": lambda run: isinstance(run, dict) and isinstance(run.get("steps"), list),
}


def _turn(text: str, calls: list[tuple[str, Any]]) -> Sample:
    """What the agent itself answered; its input is the conversation, of which nothing is said."""
    return Sample(
        component=AGENT,
        input={},
        output={"content": text, "tool_calls": [{"name": name, "arguments": given} for name, given in calls]},
    )


def _function(call: Any) -> tuple[str, Any]:
    function = _get(call, "function")
    return str(_get(function, "name")), _json(_get(function, "arguments"))


def _json(text: Any) -> Any:
    """What a text says, when it is JSON that is more than a word."""
    if not isinstance(text, str):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text


def _words(content: Any) -> str:
    """The text of a message, which may come in parts."""
    if isinstance(content, list):
        return "".join(str(_get(part, "text") or "") for part in content)
    return content if isinstance(content, str) else ""


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _list(value: Any, name: str) -> list[Any]:
    found = _get(value, name)
    return found if isinstance(found, list) else []
