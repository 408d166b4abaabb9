"""Result files of tau-bench: a list of {task_id, trial, reward, traj, info}.

`traj` holds OpenAI chat messages; source: github.com/sierra-research/tau-bench, `run.py`.
"""

import json
import math
from typing import Any

from sluicegate.console.recordings.model import RecordedRun, Recording, ToolCall
from sluicegate.contracts.errors import Problem, Refused

_SHOWN = 20


def read(data: Any, source: str) -> Recording:
    """The recording in `data`. Raises Refused with the first 20 problems."""
    problems: list[Problem] = []
    runs: dict[str, dict[int, RecordedRun]] = {}
    if not isinstance(data, list) or not data:
        raise Refused((_problem("(document)", "is not a list of runs", data, "a non-empty JSON list"),))
    for index, item in enumerate(data):
        found = _faults(item, f"[{index}]")
        if not found:
            run = _run(item)
            trials = runs.setdefault(run.task, {})
            if run.trial in trials:
                found = [
                    _problem(
                        f"[{index}]", f"is a second run of task {run.task}, trial {run.trial}", None, None
                    )
                ]
            trials[run.trial] = run
        problems += found
    if problems:
        raise Refused(tuple(problems[:_SHOWN]))
    return Recording(source=source, format="tau-bench", runs=runs)


def _faults(item: Any, path: str) -> list[Problem]:
    if not isinstance(item, dict):
        return [_problem(path, "is not a run", item, "an object")]
    checks: tuple[tuple[str, bool, str], ...] = (
        ("task_id", isinstance(item.get("task_id"), int | str), "a number or a string"),
        ("trial", _is_trial(item.get("trial")), "a whole number from 0"),
        ("reward", _is_reward(item.get("reward")), "a number in [0, 1]"),
        ("traj", _is_trajectory(item.get("traj")), "a list of chat messages, each an object with a role"),
    )
    return [
        _problem(
            f"{path}.{name}",
            "is missing" if name not in item else "has the wrong form",
            item.get(name),
            allowed,
        )
        for name, valid, allowed in checks
        if not valid
    ]


def _is_trial(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_reward(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and 0 <= value <= 1
    )


def _is_trajectory(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(message, dict) and "role" in message for message in value
    )


def _run(item: dict[str, Any]) -> RecordedRun:
    messages: list[dict[str, Any]] = item["traj"]
    answers = [_text(message) for message in messages if message["role"] == "assistant" and _text(message)]
    requests = [_text(message) for message in messages if message["role"] == "user"]
    return RecordedRun(
        task=str(item["task_id"]),
        trial=item["trial"],
        reward=float(item["reward"]),
        request=requests[0] if requests else "",
        answer=answers[-1] if answers else "",
        tool_calls=tuple(_calls(messages)),
        messages=tuple(messages),
    )


def _calls(messages: list[dict[str, Any]]) -> list[ToolCall]:
    """Calls with whether the tool refused them: its answer follows in the next tool messages."""
    calls = []
    for position, message in enumerate(messages):
        for offset, call in enumerate(message.get("tool_calls") or ()):
            function = call.get("function") or {}
            following = messages[position + 1 + offset : position + 2 + offset]
            answer = _text(following[0]) if following and following[0]["role"] == "tool" else ""
            calls.append(
                ToolCall(
                    name=str(function.get("name", "")),
                    arguments=_arguments(function.get("arguments")),
                    failed=answer.startswith("Error"),
                )
            )
    return calls


def _arguments(text: Any) -> dict[str, Any]:
    """Arguments as an object; what the model wrote that is no JSON object is kept under `_raw`."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {"_raw": text}
    return value if isinstance(value, dict) else {"_raw": value}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _problem(path: str, message: str, value: Any, allowed: str | None) -> Problem:
    shown = None if value is None else repr(value)[:80]
    return Problem(
        path=path, message=message, value=shown, allowed=allowed, hint="expected a tau-bench result file"
    )
