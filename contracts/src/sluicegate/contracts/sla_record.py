"""The record of an SLA test, as a file that a rollout or a board can ask for: what was tested, how, and what was found.

`evidenceDigest` is the digest of the canonical form (RFC 8785) of the record, so that a changed record shows. It tells nothing of
who made it: whoever needs that signs the file. `quantified` is the same in the shape of a ChangeProposal's evidence.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from sluicegate.contracts.digest import digest_of, revision_digest
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.explanations import explain
from sluicegate.contracts.resources.base import (
    Decimals,
    Digest,
    Flag,
    Int,
    Model,
    Name,
    Person,
    Rate,
    VersionText,
)
from sluicegate.contracts.resources.proposal import QuantifiedEvidence
from sluicegate.contracts.resources.workflow import AgentWorkflow
from sluicegate.contracts.sla import Measure

TYPE = "sla-test"
"""As policies name this evidence."""


class Tested(Model):
    """What was tested."""

    workflow: Name
    """Its name."""
    version: VersionText
    """`spec.version`."""
    digest: Digest
    """Of the revision: all that a run depends on."""
    component: Name | None = None
    """Absent: the whole workflow, behind its gateway."""
    components: dict[str, VersionText]
    """Version of each component."""


class Load(Model):
    """How it was tested. Times are seconds."""

    url: Annotated[str, Field(max_length=2048)]
    """What was called."""
    arrivals: Literal["poisson", "constant"]
    """How sessions arrived."""
    rate: Decimals
    """Sessions a second."""
    duration: Decimals | None = None
    """Absent: until `maxRuns`."""
    max_runs: Int | None = None
    """Most measured sessions."""
    warm_up: Decimals
    """At the beginning, not counted."""
    think_time: Decimals
    """Between the runs of a session."""
    timeout: Decimals
    """Of one run."""
    seed: Int
    """Of arrivals and of the choice of inputs."""
    inputs: Digest
    """Of all inputs that were drawn from."""
    input_count: Int
    """How many sessions these are."""
    made: Flag
    """Whether they were made of the contract."""


class Counted(Model):
    """What was seen, without the warm-up. A session is judged as one unit."""

    warm_up: Int
    """Sessions before."""
    sessions: Int
    """All that were judged."""
    runs: Int
    """In them."""
    succeeded: Int
    """Runs that were answered as the contract says."""
    fell_back: Int
    """Runs that were degraded."""
    unsent: Int
    """Sessions that the generator had no place for."""
    late: Int
    """Sessions that the generator delayed."""
    unfinished: Int
    """Sessions that were cut off at the end."""


class Found(Model):
    """What is known of one promise. Rates are of bad runs: slow, failed, degraded."""

    measure: Measure
    """What was promised."""
    promise: str
    """For people."""
    limit: Rate
    """The greatest rate that keeps it."""
    verdict: Literal["Pass", "Fail", "Inconclusive"]
    """Whether it is kept."""
    units: Int
    """Sessions judged."""
    rate: Decimals | None = None
    """Estimated."""
    low: Decimals
    """Of the interval."""
    high: Decimals
    """Of the interval."""
    decided_at: Int | None = None
    """Units at the verdict."""
    more: Int | None = None
    """About how many more units would decide."""


class SlaRecord(Model):
    """One test."""

    type: Literal["sla-test"] = "sla-test"
    """Always this."""
    tested: Tested
    """What."""
    load: Load
    """How."""
    counted: Counted
    """What was seen."""
    confidence: Rate
    """Of all verdicts together, at any time."""
    findings: Annotated[tuple[Found, ...], Field(min_length=1, max_length=3)]
    """One for each promise."""
    verdict: Literal["Pass", "Fail", "Inconclusive"]
    """Of all of them."""
    reason: str
    """Why, in a word."""
    ended_by: Literal["Decided", "Planned", "Interrupted"]
    """Why it ended when it did."""
    started_at: datetime
    """When."""
    ended_at: datetime
    """When."""
    produced_by: Person | None = None
    """Who or what made it."""


class SlaEvidence(Model):
    """The file."""

    evidence_digest: Digest
    """Of `record`."""
    record: SlaRecord
    """The test."""
    quantified: tuple[QuantifiedEvidence, ...]
    """For `spec.options[].evidence` of a ChangeProposal."""


def sealed(record: SlaRecord) -> SlaEvidence:
    """The record with its digest."""
    digest = digest_of(record.to_json())
    return SlaEvidence(evidence_digest=digest, record=record, quantified=tuple(_quantified(record, digest)))


def _quantified(record: SlaRecord, digest: str) -> Iterator[QuantifiedEvidence]:
    for found in record.findings:
        if found.rate is not None:
            yield QuantifiedEvidence(
                name=f"sla-{found.measure.value}",
                type=TYPE,
                value=found.rate,
                low=found.low,
                high=found.high,
                confidence=record.confidence,
                unit="rate of bad runs",
                samples=found.units,
                digest=digest,
                produced_by=record.produced_by,
                produced_at=record.ended_at,
            )


def read(data: Any) -> SlaEvidence:
    """The evidence of a JSON document. Raises Refused with every problem of its shape."""
    try:
        return SlaEvidence.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True)
        shape = data if isinstance(data, dict) else {}
        raise Refused(tuple(explain(found, SlaEvidence, shape))) from None


def differences(evidence: SlaEvidence, workflow: AgentWorkflow) -> tuple[Problem, ...]:
    """Why evidence is not to be relied on for a workflow: it was changed, or is of something else. All at once."""
    tested, spec = evidence.record.tested, workflow.spec
    again = sealed(evidence.record)
    versions = {component.name: component.version for component in spec.components}
    rows = (
        ("evidenceDigest", evidence.evidence_digest, again.evidence_digest, "the record was changed after the test"),
        ("quantified", evidence.quantified, again.quantified, "says something else than the record"),
        ("record.tested.workflow", tested.workflow, workflow.metadata.name, "is of another workflow"),
        ("record.tested.version", tested.version, spec.version, "is of another version"),
        ("record.tested.components", tested.components, versions, "is of other versions of the components"),
        ("record.tested.digest", tested.digest, revision_digest(spec), "is of another body of the workflow"),
    )  # fmt: skip
    return tuple(
        Problem(
            path=path,
            message=message,
            value=_told(given),
            allowed=_told(wanted),
            hint="test this version again",
        )
        for path, given, wanted, message in rows
        if given != wanted
    )


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    return value if isinstance(value, str) else "numbers of the record"
