"""The columns of `get`, per kind: a table of (head, cell), and more of them for -o wide."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sluicegate.console import exits
from sluicegate.console.client import ROLLOUTS, Client, Object
from sluicegate.console.figures import need, traffic
from sluicegate.console.output import NONE, age, moment, span

_ORDER = {verdict: rank for rank, verdict in enumerate(("Fail", "Error", "Inconclusive", "Wait", "Pass"))}


@dataclass(frozen=True, slots=True)
class Row:
    """What a cell may look at: the object, its rollout (for a workflow), what else is known, the time."""

    item: Object
    rollout: Object | None
    now: datetime
    results: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> Object:
        """The object's spec."""
        return dict(self.item.get("spec") or {})

    @property
    def status(self) -> Object:
        """The object's status, empty before the first."""
        return dict(self.item.get("status") or {})

    @property
    def passage(self) -> Object:
        """Status of the rollout that runs; empty when there is none."""
        return dict((self.rollout or {}).get("status") or {})


Cell = Callable[[Row], Any]
Column = tuple[str, Cell]


@dataclass(frozen=True, slots=True)
class Context:
    """What was read beside the listed objects: rollouts by name, results of decisions by uid, versions of revisions."""

    rollouts: Mapping[tuple[str, str], Object] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """Columns of one kind."""

    columns: tuple[Column, ...]

    @property
    def heads(self) -> tuple[str, ...]:
        """Their heads."""
        return tuple(head for head, _ in self.columns)

    def rows(self, items: Sequence[Object], context: Context, now: datetime) -> Iterator[tuple[str, ...]]:
        """One row per object."""
        for item in items:
            row = Row(item, _rollout_of(item, context), now, context.results, context.versions)
            yield tuple(_text(cell(row)) for _, cell in self.columns)


def of(kind: str, *, wide: bool = False, namespaced: bool = False) -> View:
    """The view of a kind. namespaced: with the namespace in front."""
    narrow, extra = _KINDS[kind]
    front: tuple[Column, ...] = (
        (("Namespace", lambda row: row.item["metadata"]["namespace"]),) if namespaced else ()
    )
    return View((*front, _NAME, *narrow, _AGE, *(extra if wide else ())))


def context(client: Client, kind: str, namespace: str | None) -> Context:
    """What the cells of a kind need beside the objects."""
    if kind not in {"AgentWorkflow", "Decision"}:
        return Context()
    found = client.listing(ROLLOUTS, namespace)
    rollouts = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in found}
    records = [record for item in found for record in (item.get("status") or {}).get("decisions", ())]
    ends = [item["spec"][end] for item in found for end in ("stable", "candidate")]
    return Context(
        rollouts,
        {record["uid"]: record["result"] for record in records},
        {end["name"]: end["version"] for end in ends},
    )


def gate_in_short(gates: Sequence[Mapping[str, Any]]) -> str:
    """The gates in one cell: the worst verdict and how many have it, `Pass 5/5`, `Fail success`."""
    if not gates:
        return NONE
    worst = min((gate["verdict"] for gate in gates), key=lambda verdict: _ORDER.get(verdict, 0))
    which = [gate["name"] for gate in gates if gate["verdict"] == worst]
    if worst in {"Fail", "Error"}:
        return f"{worst} {which[0]}" + (f" +{len(which) - 1}" if len(which) > 1 else "")
    passed = sum(gate["verdict"] == "Pass" for gate in gates)
    return f"{worst} {passed}/{len(gates)}"


def _rollout_of(item: Object, context: Context) -> Object | None:
    if item["kind"] == "WorkflowRollout":
        return item
    name = (item.get("status") or {}).get("rollout")
    return context.rollouts.get((item["metadata"]["namespace"], name)) if name else None


def _text(value: Any) -> str:
    return NONE if value is None or value == "" else str(value)


def _condition(row: Row, type: str) -> Any:
    found = [one for one in row.status.get("conditions", ()) if one["type"] == type]
    return found[0] if found else {}


def _version(digest_or_ref: Any) -> Any:
    return digest_or_ref.get("version") if isinstance(digest_or_ref, Mapping) else digest_or_ref


def _candidate(row: Row) -> Any:
    if row.rollout is not None and row.passage.get("state") != "Done":
        return row.rollout["spec"]["candidate"]["version"]
    return row.status.get("candidateRevision")


def _stable(row: Row) -> Any:
    """The version that serves, as a rollout names it; without any rollout the wish itself is stable."""
    if row.rollout is None:
        revision = row.status.get("stableRevision")
        return row.versions.get(revision, row.spec.get("version")) if revision else None
    won = row.passage.get("outcome") in exits.ARRIVED
    return row.rollout["spec"]["candidate" if won else "stable"]["version"]


def _traffic(row: Row, fraction: Any) -> Any:
    """What the candidate gets while there is one."""
    stage = row.status.get("stage")
    if stage is None or stage == "Stable" or row.status.get("outcome"):
        return None
    return traffic(fraction, stage)


def _next(row: Row) -> Any:
    at = moment(row.passage.get("nextEvaluationAt"))
    return span((at - row.now).total_seconds()) if at else None


def _decision_in(row: Row) -> Any:
    seconds = row.passage.get("estimatedSecondsToDecision")
    return span(seconds) if seconds else None


def _reason(row: Row) -> Any:
    return _condition(row, "Ready").get("reason")


def _short_digest(row: Row) -> str:
    return str(row.spec.get("digest", "")).removeprefix("sha256:")[:12]


_NAME: Column = ("Name", lambda row: row.item["metadata"]["name"])
_AGE: Column = ("Age", lambda row: age(row.item["metadata"].get("creationTimestamp"), row.now))
_GATE: Column = ("Gate", lambda row: gate_in_short(row.passage.get("gates", ())))
_MORE: tuple[Column, ...] = (
    ("Stable", _stable),
    ("Reason", _reason),
    (
        "Samples",
        lambda row: (
            need(row.passage["samples"], row.passage.get("needed")) if "samples" in row.passage else None
        ),
    ),
    ("Decision-in", _decision_in),
    ("Next", _next),
    ("Attempt", lambda row: row.passage.get("attempt")),
)

_KINDS: dict[str, tuple[tuple[Column, ...], tuple[Column, ...]]] = {
    "AgentWorkflow": (
        (
            ("Phase", lambda row: row.status.get("phase", "Pending")),
            ("Stage", lambda row: row.status.get("stage")),
            ("Candidate", _candidate),
            ("Traffic", lambda row: _traffic(row, row.status.get("traffic"))),
            _GATE,
            ("Ready", lambda row: _condition(row, "Ready").get("status", "Unknown")),
        ),
        _MORE,
    ),
    "WorkflowRollout": (
        (
            ("Workflow", lambda row: row.spec["workflow"]),
            ("Phase", lambda row: row.status.get("phase", "Pending")),
            ("Stage", lambda row: row.status.get("stage")),
            ("Candidate", lambda row: row.spec["candidate"]["version"]),
            ("Traffic", lambda row: _traffic(row, row.status.get("share"))),
            _GATE,
            ("Outcome", lambda row: row.status.get("outcome")),
        ),
        _MORE,
    ),
    "WorkflowRevision": (
        (
            ("Workflow", lambda row: row.spec["workflow"]),
            ("Number", lambda row: row.spec["number"]),
            ("Version", lambda row: row.spec["version"]),
            ("Digest", _short_digest),
            ("Changed-by", lambda row: row.spec.get("changedBy")),
        ),
        (("Reason", lambda row: row.spec.get("reason")),),
    ),
    "Decision": (
        (
            ("Action", lambda row: row.spec["action"]),
            ("Target", lambda row: row.spec["target"]["name"]),
            ("By", lambda row: row.spec.get("decidedBy")),
            ("Result", lambda row: row.results.get(row.item["metadata"].get("uid", ""))),
        ),
        (
            ("Stage", lambda row: (row.spec.get("expected") or {}).get("stage")),
            ("Attempt", lambda row: (row.spec.get("expected") or {}).get("attempt")),
            ("Reason", lambda row: row.spec.get("reason")),
        ),
    ),
    "AgentComponent": (
        (
            ("Owner", lambda row: row.spec["owner"]),
            ("Role", lambda row: row.spec.get("role", "Executor")),
            ("Protocol", lambda row: row.spec.get("protocol", "Http")),
            ("Versions", lambda row: len(row.spec.get("versions", ()))),
        ),
        (("Latest", lambda row: _version((row.spec.get("versions") or [None])[-1])),),
    ),
    "ChangeProposal": (
        (
            ("Class", lambda row: row.spec["changeClass"]),
            ("State", lambda row: row.status.get("state")),
            ("Votes", lambda row: row.status.get("tally")),
            ("By", lambda row: row.spec["proposedBy"]),
        ),
        (("Title", lambda row: row.spec["title"]), ("Closes", lambda row: row.spec.get("closesAt"))),
    ),
    "FallbackRuleSet": (
        (
            ("Version", lambda row: row.spec["version"]),
            ("Rules", lambda row: len(row.spec.get("rules", ()))),
            ("Serving", lambda row: row.status.get("servingVersion")),
            ("Ready", lambda row: _condition(row, "Ready").get("status", "Unknown")),
        ),
        (("Owner", lambda row: row.spec["owner"]), ("Reason", lambda row: row.spec.get("changeReason"))),
    ),
    "RetrainingRun": (
        (
            ("Workflow", lambda row: row.spec["workflow"]),
            ("Trigger", lambda row: row.spec["trigger"]["type"]),
            ("State", lambda row: row.status.get("state")),
            ("Outcome", lambda row: row.status.get("outcome")),
        ),
        (("Backend", lambda row: row.spec["backend"]["type"]),),
    ),
    "GovernancePolicy": (
        (
            ("Enforcement", lambda row: row.spec.get("enforcement", "Enforce")),
            ("Rules", lambda row: len(row.spec.get("rules", ()))),
        ),
        (("Description", lambda row: row.spec.get("description")),),
    ),
}
