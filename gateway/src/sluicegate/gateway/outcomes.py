"""The outcome call: what the business says of a run later."""

from typing import Any
from uuid import UUID

import orjson

from sluicegate.contracts.runs import RunOutcome
from sluicegate.contracts.suggestions import did_you_mean, shown
from sluicegate.gateway.jsonio import JsonError, parse
from sluicegate.gateway.problems import Response, problem
from sluicegate.gateway.serving import RunService
from sluicegate.lineage.entries import encode_outcome

MAX_NOTE = 4096
_FIELDS = ("reward", "outcome", "note")
_OUTCOMES = {item.value: item for item in (RunOutcome.SUCCEEDED, RunOutcome.FAILED)}


def read_outcome(run_id: str, body: bytes, service: RunService) -> Response:
    """Record an outcome; 202, because whether the run exists is known only to the store.

    Refused with every problem at once (422), or 400 for an id or body that is none.
    """
    try:
        known = str(UUID(run_id)) == run_id
    except ValueError:
        known = False
    if not known:
        return problem(
            400, "the run id is not a UUID", hint="it is in the header Sluicegate-Run-Id of the run's answer"
        )
    try:
        data = parse(body)
    except JsonError as error:
        return problem(400, f"the body is not usable JSON: {error}", run_id=run_id)
    problems = _problems(data)
    if problems:
        return problem(422, "the outcome cannot be recorded", run_id=run_id, problems=problems)
    line = encode_outcome(
        run_id,
        at=service.kernel.now(),
        reward=None if data.get("reward") is None else float(data["reward"]),
        outcome=_OUTCOMES.get(data.get("outcome")),
        note=data.get("note"),
    )
    if not service.spool.append(line):
        return problem(503, "the outcome could not be written; try again", run_id=run_id)
    return Response(202, orjson.dumps({"runId": run_id}), [(b"content-type", b"application/json")])


def _problems(data: Any) -> list[dict[str, Any]]:
    if not isinstance(data, dict):
        return [_problem("", "must be an object", data, allowed=", ".join(_FIELDS))]
    found = [
        _problem(
            name[:80], "unknown field", value, allowed=", ".join(_FIELDS), hint=did_you_mean(name, _FIELDS)
        )
        for name, value in data.items()
        if name not in _FIELDS
    ]
    reward, outcome, note = (data.get(name) for name in _FIELDS)
    is_number = isinstance(reward, int | float) and not isinstance(reward, bool)
    if reward is not None and not (is_number and 0.0 <= reward <= 1.0):
        found.append(_problem("reward", "must be a number in [0, 1]", reward, allowed="0..1"))
    if outcome is not None and not (isinstance(outcome, str) and outcome in _OUTCOMES):
        found.append(_problem("outcome", "unknown outcome", outcome, allowed=", ".join(_OUTCOMES)))
    if note is not None and not (isinstance(note, str) and len(note) <= MAX_NOTE):
        found.append(_problem("note", f"must be a text of at most {MAX_NOTE} characters", note))
    if not found and reward is None and outcome is None:
        found.append(_problem("", "needs a reward or an outcome", data, allowed=", ".join(_FIELDS)))
    return found


def _problem(path: str, message: str, value: Any, **more: str | None) -> dict[str, Any]:
    return {"path": path, "message": message, "value": shown(value)} | {
        k: v for k, v in more.items() if v is not None
    }
