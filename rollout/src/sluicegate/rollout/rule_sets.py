"""One look at a rule set: is its table proved, under a name of its own, and do the gateways have it.

The proof is made once for each generation and kept in the status: whoever reads the object later, another leader or a
workflow, takes it from there. The operator makes it beside the loop (`needs_proof`, `judge`), and nothing waits for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sluicegate.contracts.diagnostics import Severity
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.resources import FallbackRuleSet
from sluicegate.contracts.resources.base import Condition, StatusPhase
from sluicegate.contracts.resources.fallback import NamedTable, RuleSetStatus, TableProof
from sluicegate.fallback_rules.proof import prove
from sluicegate.fallback_rules.table import compile_table
from sluicegate.rollout import conditions, events
from sluicegate.rollout.conditions import Wanted, is_false, is_true
from sluicegate.rollout.model import Emit, Plan, RuleSetObserved, ref_of

PROVEN: Final = "Proven"
MOST_VERSIONS: Final = 10
MOST_USERS: Final = 50
UNSETTLED_SECONDS: Final = 30.0
"""Between looks at a rule set that gateways do not follow yet; what makes them do so wakes it sooner."""
PROVE_AGAIN_SECONDS: Final = 60.0
_MOST_TOLD: Final = 3
_LONGEST: Final = 2_000
"""Characters of the findings in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came out of the proof. digest None: the table does not compile. problems: the first findings; empty when it holds.

    is_broken: the proof itself failed, which says nothing of the table.
    """

    digest: str | None = None
    proof: TableProof | None = None
    problems: str = ""
    is_broken: bool = False


def needs_proof(item: FallbackRuleSet) -> bool:
    """Whether this generation was never proved."""
    known = verdict(item)
    return known is None or known.status == "Unknown"


def verdict(item: FallbackRuleSet) -> Condition | None:
    """What is known of the table of this generation: the condition Proven; None while it was not looked at."""
    found = None if item.status is None else conditions.find(item.status.conditions, PROVEN)
    is_present = found is not None and found.observed_generation == (item.metadata.generation or 0)
    return found if is_present else None


def judge(item: FallbackRuleSet) -> Judged:
    """Compile and prove; seconds for a large table."""
    try:
        table = compile_table(item.spec)
    except Refused as refused:
        return Judged(problems=str(refused)[:_LONGEST])
    proof = prove(table, subject=f"FallbackRuleSet/{item.metadata.name}")
    said = [
        f"{one.code} {one.path}: {one.message}" + (f" (witness {one.witness})" if one.witness else "")
        for one in proof.diagnostics
        if one.severity is Severity.ERROR
    ]
    problems = "" if proof.holds else "; ".join(said[:_MOST_TOLD])[:_LONGEST]
    return Judged(digest=table.digest, proof=proof.summary, problems=problems)


def reconcile_rule_set(
    observed: RuleSetObserved, judged: Judged | None, now: datetime
) -> Plan[RuleSetStatus]:
    """What the status has to be. judged: of this generation, where `needs_proof`; else None."""
    item = observed.rule_set
    generation = item.metadata.generation or 0
    old = item.status or RuleSetStatus()
    status = (
        old if judged is None else old.model_copy(update={"digest": judged.digest, "proof": judged.proof})
    )
    proven = _proven(item, status, judged)
    if proven.truth:
        status = status.model_copy(update={"versions": _named(item, status, now)})
    status = _with_drills(observed, _with_use(observed, status))
    wanted = (proven, *_standing(observed, status, proven))
    settled = conditions.settle(status.conditions, wanted, generation=generation, now=now)
    ready = conditions.find(settled, "Ready")
    status = status.model_copy(
        update={
            "observed_generation": generation,
            "phase": _phase(settled),
            "message": ready.message if ready is not None else "",
            "conditions": settled,
        }
    )
    return Plan(
        status=status,
        actions=tuple(_told(item, old, status)),
        requeue_after=_requeue(observed, proven, settled),
    )


def _proven(item: FallbackRuleSet, status: RuleSetStatus, judged: Judged | None) -> Wanted:
    known = verdict(item)
    if judged is None and known is not None and known.status != "Unknown":  # kept as it was said
        return Wanted(PROVEN, known.status == "True", known.reason, known.message)
    if judged is None or judged.is_broken:
        why = "" if judged is None else judged.problems
        return Wanted(PROVEN, None, "ProofFailed", f"the proof could not be made, and is tried again: {why}")
    if judged.problems:
        return is_false(PROVEN, "RuleSetInvalid", judged.problems)
    other = reused(status, item.spec.version, judged.digest)
    if other is not None:
        return is_false(PROVEN, "VersionReused", other)
    return is_true(
        PROVEN, "Proved", f"every input that the columns of {item.spec.version} allow was looked at"
    )


def reused(status: RuleSetStatus | None, version: str, digest: str | None) -> str | None:
    """Why a version may not name the table of that digest: it was the name of another one. None when it may."""
    named = {one.version: one for one in (status.versions if status is not None else ())}
    before = named.get(version)
    if before is None or before.digest == digest:
        return None
    return (
        f"{version} was the name of another table ({before.digest[:19]}…), proved {before.proved_at:%Y-%m-%d}"
    )


def _named(item: FallbackRuleSet, status: RuleSetStatus, now: datetime) -> tuple[NamedTable, ...]:
    """With the present version as the newest; one that comes back keeps the time of its proof."""
    if status.digest is None:
        return status.versions
    known = next((one for one in status.versions if one.version == item.spec.version), None)
    mine = known or NamedTable(version=item.spec.version, digest=status.digest, proved_at=now)
    others = tuple(one for one in status.versions if one.version != item.spec.version)
    return (*others, mine)[-MOST_VERSIONS:]


def _with_use(observed: RuleSetObserved, status: RuleSetStatus) -> RuleSetStatus:
    """Who names it, and which table gateways have: while plans or gateways differ, or are not known, that of before."""
    tables = {(one.version, one.digest) for one in observed.carried if one.is_followed}
    is_one = len(tables) == 1 and not observed.unknown and all(one.is_followed for one in observed.carried)
    is_carried = observed.carried or observed.unknown
    before = (status.serving_version, status.serving_digest) if is_carried else (None, None)
    version, digest = tables.pop() if is_one else before
    return status.model_copy(
        update={
            "serving_version": version,
            "serving_digest": digest,
            "users": len(observed.users),
            "used_by": observed.users[:MOST_USERS],
        }
    )


def _with_drills(observed: RuleSetObserved, status: RuleSetStatus) -> RuleSetStatus:
    """The newest report of its users, when one of them passed last, and when the next begins."""
    reports = [one.last_drill for one in observed.statuses if one.last_drill is not None]
    passed = [one.last_passed_drill_at for one in observed.statuses if one.last_passed_drill_at is not None]
    begins = [one.next_drill_at for one in observed.statuses if one.next_drill_at is not None]
    return status.model_copy(
        update={
            "last_drill": max(reports, key=lambda one: one.started_at, default=None),
            "last_passed_drill_at": max(passed, default=None),
            "next_drill_at": min(begins, default=None),
        }
    )


def _standing(observed: RuleSetObserved, status: RuleSetStatus, proven: Wanted) -> Iterator[Wanted]:
    """Ready, Reconciling and Stalled, as kstatus reads them."""
    ready = _ready(observed, status, proven)
    yield ready
    yield Wanted("Reconciling", ready.truth is None, ready.reason, ready.message)
    yield Wanted("Stalled", ready.truth is False, ready.reason, ready.message)


def _ready(observed: RuleSetObserved, status: RuleSetStatus, proven: Wanted) -> Wanted:
    version = observed.rule_set.spec.version
    if not proven.truth:
        goes_on = f"; {status.serving_version} goes on answering" if status.serving_version else ""
        return is_false("Ready", proven.reason, f"{version} is not used: {proven.message}{goes_on}")
    if not observed.users:
        return is_true("Ready", "Unused", f"{version} is proved; no workflow names it")
    late = [
        one.workflow
        for one in observed.carried
        if not one.is_followed or (one.version, one.digest) != (version, status.digest)
    ]
    if late:
        goes_on = f"; until then {status.serving_version} answers" if status.serving_version else ""
        said = f"waits until every gateway has {version}, for {', '.join(late[:_MOST_TOLD])}{goes_on}"
        return Wanted("Ready", None, "Programming", said)
    before = _ready_before(observed, status)
    if not observed.carried and (not observed.unknown or before == "Unused"):
        return is_true("Ready", "Unused", f"{version} is proved; no plan has it yet")
    if observed.unknown and before != "Serving":
        whose = ", ".join(observed.unknown[:_MOST_TOLD])
        return Wanted("Ready", None, "Programming", f"the plan of {whose} cannot be read; it is tried again")
    return is_true("Ready", "Serving", f"every gateway has the plan with {version}")


def _ready_before(observed: RuleSetObserved, status: RuleSetStatus) -> str | None:
    """Why this generation was ready: a plan that cannot be read takes nothing back. None: it was not."""
    known = conditions.find(status.conditions, "Ready")
    generation = observed.rule_set.metadata.generation or 0
    is_present = known is not None and known.observed_generation == generation and known.status == "True"
    return known.reason if known is not None and is_present else None


def _phase(settled: tuple[Condition, ...]) -> StatusPhase:
    truths = {one.type: one.status for one in settled}
    if truths.get("Stalled") == "True":
        return "Degraded"
    return "Healthy" if truths.get("Ready") == "True" else "Progressing"


def _told(item: FallbackRuleSet, old: RuleSetStatus, new: RuleSetStatus) -> Iterator[Emit]:
    before, after = conditions.find(old.conditions, PROVEN), conditions.find(new.conditions, PROVEN)
    key = f"{item.metadata.uid}/{item.metadata.generation}"
    if after is not None and after.status != "True" and after != before:
        ready = conditions.find(new.conditions, "Ready")
        said = after.message if ready is None else ready.message
        yield events.emit(ref_of(item), "RuleSetRefused", said, key=f"{key}/{after.reason}", bad=True)
    if new.serving_digest is not None and new.serving_digest != old.serving_digest:
        instead = f" instead of {old.serving_version}" if old.serving_version else ""
        said = f"every gateway has the plan with {new.serving_version}{instead}"
        yield events.emit(ref_of(item), "RuleSetServing", said, key=f"{key}/{new.serving_digest}")


def _requeue(observed: RuleSetObserved, proven: Wanted, settled: tuple[Condition, ...]) -> float | None:
    if proven.truth is None:
        return PROVE_AGAIN_SECONDS
    is_settled = conditions.find(settled, "Reconciling") is None and not observed.unknown
    return None if is_settled else UNSETTLED_SECONDS
