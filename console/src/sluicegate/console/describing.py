"""`describe` as text: pure, from objects to lines."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sluicegate.console import output
from sluicegate.console.client import Object
from sluicegate.console.figures import gate_number, need, share, significant, traffic
from sluicegate.console.output import NONE, age

_INDENT = "  "
_KEY_WIDTH = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """What is shown beside the object: its rollout, and events, newest first."""

    rollout: Object | None = None
    events: Sequence[Object] = ()


def describe(item: Object, related: Related, now: datetime) -> str:
    """The whole page."""
    parts = [
        _metadata(item, now),
        *_SECTIONS.get(item["kind"], _spec_only)(item, related, now),
        _events(related, now),
    ]
    return "\n".join(part for part in parts if part)


def _metadata(item: Object, now: datetime) -> str:
    metadata = item["metadata"]
    labels = [f"{key}={value}" for key, value in (metadata.get("labels") or {}).items()]
    annotations = [f"{key}={value}" for key, value in (metadata.get("annotations") or {}).items()]
    owners = [f"{one['kind']}/{one['name']}" for one in metadata.get("ownerReferences") or ()]
    return _fields(
        Name=metadata["name"],
        Namespace=metadata.get("namespace"),
        Kind=item["kind"],
        Labels=", ".join(labels) or "<none>",
        Annotations=", ".join(annotations) or "<none>",
        Owner=", ".join(owners),
        Created=_when(metadata.get("creationTimestamp"), now),
        Deleting=_when(metadata.get("deletionTimestamp"), now),
    )


def _workflow(item: Object, related: Related, now: datetime) -> list[str]:
    spec, status = item["spec"], item.get("status") or {}
    components = [
        (
            one["name"],
            one.get("role", "Executor"),
            one["version"],
            _endpoint(one["endpoint"]),
            one["sideEffects"],
        )
        for one in spec["components"]
    ]
    parts = [
        _fields(
            Version=spec["version"],
            Phase=output.word(status.get("phase", "Pending")),
            Stage=status.get("stage"),
            Stable=status.get("stableRevision"),
            Candidate=status.get("candidateRevision"),
            Traffic=traffic(status.get("traffic"), status.get("stage")),
            Message=status.get("message"),
        ),
        _section(
            "Components", output.table(("Name", "Role", "Version", "Endpoint", "Side-effects"), components)
        ),
        _conditions(status, now),
    ]
    if related.rollout is not None:
        parts += [
            f"\nRollout: {related.rollout['metadata']['name']}",
            *_rollout(related.rollout, related, now),
        ]
    return parts


def _rollout(item: Object, related: Related, now: datetime) -> list[str]:
    del related
    spec, status = item["spec"], item.get("status") or {}
    seconds = status.get("estimatedSecondsToDecision")
    return [
        _fields(
            Workflow=spec["workflow"],
            Stable=_revision(spec["stable"]),
            Candidate=_revision(spec["candidate"]),
            State=status.get("state", "Pending"),
            Outcome=output.word(status.get("outcome") or ""),
            Stage=status.get("stage"),
            Attempt=status.get("attempt"),
            Share=traffic(status.get("share"), status.get("stage")),
            Samples=need(status.get("samples", 0), status.get("needed")),
            DecisionIn=f"about {output.span(seconds)} at the present rates" if seconds else None,
            Started=_when(status.get("startedAt"), now),
            StageStarted=_when(status.get("stageStartedAt"), now),
            Ended=_when(status.get("endedAt"), now),
            Paused="yes" if status.get("paused") else None,
            Held=status.get("holdReason") or ("yes" if status.get("held") else None),
            Evidence=status.get("evidenceDigest"),
            Message=status.get("message"),
        ),
        _section("Plan", plan_table(spec.get("stages", ()))),
        _section("Gates", gates_table(status.get("gates", ()))),
        _section("History", history_table(status.get("history", ()), now)),
        _section("Decisions", decisions_table(status.get("decisions", ()), now)),
        _conditions(status, now),
    ]


def _decision(item: Object, related: Related, now: datetime) -> list[str]:
    spec = item["spec"]
    records = ((related.rollout or {}).get("status") or {}).get("decisions", ())
    uid = item["metadata"].get("uid")
    used: Mapping[str, Any] = next((one for one in records if one["uid"] == uid), {})
    expected = spec.get("expected") or {}
    return [
        _fields(
            Action=spec["action"],
            Target=f"{spec['target'].get('kind', 'WorkflowRollout')}/{spec['target']['name']}",
            DecidedBy=spec.get("decidedBy"),
            Reason=spec.get("reason"),
            Expected=", ".join(f"{key} {value}" for key, value in expected.items()),
            Evidence=spec.get("evidenceDigest"),
            Expires=_when(spec.get("expiresAt"), now),
            Result=output.word(used.get("result", "")) or "not used yet",
            Message=used.get("message"),
        )
    ]


def _spec_only(item: Object, related: Related, now: datetime) -> list[str]:
    del related, now
    body = output.as_yaml({key: item[key] for key in ("spec", "status") if key in item})
    return [body]


_SECTIONS: dict[str, Callable[[Object, Related, datetime], list[str]]] = {
    "AgentWorkflow": _workflow,
    "WorkflowRollout": _rollout,
    "Decision": _decision,
}


def gates_table(gates: Sequence[Mapping[str, Any]]) -> str:
    """Gates with both numbers, samples, message, and the run ids that show a failure."""
    rows = [
        (
            gate["name"] + (f"({gate['component']})" if gate.get("component") else ""),
            gate["verdict"],
            gate_number(gate, "candidate"),
            gate_number(gate, "stable"),
            need(gate.get("have", 0), gate.get("need")),
            gate["reason"],
            gate["message"] + (f" [runs {', '.join(gate['runs'])}]" if gate.get("runs") else ""),
        )
        for gate in gates
    ]
    return (
        output.table(("Gate", "Verdict", "Candidate", "Stable", "Have/need", "Reason", "Message"), rows)
        if rows
        else ""
    )


def plan_table(stages: Sequence[Mapping[str, Any]]) -> str:
    """The stages of a rollout with their limits and the share of the error budget of each gate."""
    rows = [
        (
            stage["name"],
            share(stage.get("share")),
            str(stage["minRuns"]),
            output.span(stage["minDurationSeconds"]),
            output.span(stage["maxDurationSeconds"]),
            ", ".join(_planned(gate) for gate in stage["gates"]),
            ", ".join(dict.fromkeys(significant(gate["abortAlpha"]) for gate in stage["gates"])),
            str((stage.get("approvals") or {}).get("required", 0)),
        )
        for stage in stages
    ]
    heads = ("Stage", "Share", "Min-runs", "At-least", "At-most", "Gates", "Alpha-abort", "Approvals")
    return output.table(heads, rows) if rows else ""


def history_table(history: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """The stages that were left, and why."""
    rows = [
        (
            record["stage"],
            str(record["attempt"]),
            f"{age(record['endedAt'], now)} ago",
            _lasted(record),
            ", ".join(f"{gate['name']}={gate['verdict']}" for gate in record.get("gates", ())) or NONE,
            record["leftBy"],
        )
        for record in history
    ]
    return output.table(("Stage", "Attempt", "When", "Lasted", "Gates", "Left-by"), rows) if rows else ""


def decisions_table(decisions: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """What people decided, and what became of it."""
    rows = [
        (one["action"], one["decidedBy"], one["result"], f"{age(one['at'], now)} ago", one.get("message", ""))
        for one in decisions
    ]
    return output.table(("Action", "By", "Result", "When", "Message"), rows) if rows else ""


def _conditions(status: Mapping[str, Any], now: datetime) -> str:
    rows = [
        (
            one["type"],
            one["status"],
            one["reason"],
            age(one.get("lastTransitionTime"), now),
            one.get("message", ""),
        )
        for one in status.get("conditions", ())
    ]
    heads = ("Type", "Status", "Reason", "Since", "Message")
    return _section("Conditions", output.table(heads, rows) if rows else "")


def _events(related: Related, now: datetime) -> str:
    return _section("Events", events_table(related.events, now) or "<none>")


def events_table(events: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """Events, oldest first, as kubectl prints them."""
    rows = [
        (one["type"], one["reason"], _times(one, now), one.get("message", "")) for one in reversed(events)
    ]
    return output.table(("Type", "Reason", "Age", "Message"), rows) if rows else ""


def _times(event: Mapping[str, Any], now: datetime) -> str:
    last = age(event.get("lastAt"), now)
    count = event.get("count", 1)
    return f"{last} (x{count} over {age(event.get('firstAt'), now)})" if count > 1 else last


def _planned(gate: Mapping[str, Any]) -> str:
    """`success ±0.05`, `p95 (prometheus: max 500)`."""
    named = f"{gate['name']} ±{gate['margin']}" if gate.get("margin") else str(gate["name"])
    source = gate.get("source")
    if not source:
        return named
    where = next(one for one in ("prometheus", "web", "job") if one in source)
    limits = ", ".join(f"{bound} {number}" for bound, number in (source.get("limit") or {}).items())
    return f"{named} ({where}{f': {limits}' if limits else ''})"


def _lasted(record: Mapping[str, Any]) -> str:
    start, end = output.moment(record["startedAt"]), output.moment(record["endedAt"])
    return output.span((end - start).total_seconds()) if start and end else NONE


def _revision(ref: Mapping[str, Any]) -> str:
    return f"{ref['version']}  ({ref['name']}, {ref['digest'][:19]}…)"


def _endpoint(endpoint: Mapping[str, Any]) -> str:
    service = endpoint.get("serviceRef") or {}
    where = endpoint.get("url") or (
        f"{service['name']}:{service.get('port', 80)}{service.get('path', '/')}" if service else ""
    )
    return " ".join(
        str(part) for part in (endpoint.get("protocol", "Http"), where, endpoint.get("model")) if part
    )


def _when(text: Any, now: datetime) -> str | None:
    return f"{text}  ({age(text, now)} ago)" if text else None


def _fields(**fields: Any) -> str:
    """`Key:   value` lines in one column; None and empty values are left out."""
    shown = [(_spaced(key), str(value)) for key, value in fields.items() if value not in {None, "", NONE}]
    width = max(_KEY_WIDTH, *(len(key) + 1 for key, _ in shown)) if shown else 0
    return "\n".join(f"{key + ':':{width}}  {value}" for key, value in shown)


def _spaced(key: str) -> str:
    return "".join(f" {letter}" if letter.isupper() and index else letter for index, letter in enumerate(key))


def _section(title: str, body: str) -> str:
    return f"{title}:\n{_indented(body.splitlines())}" if body else ""


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(_INDENT + line for line in lines)
