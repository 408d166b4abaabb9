"""What an SLA promises, and the record of a test of it."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.proposal import QuantifiedEvidence
from sluicegate.contracts.resources.workflow import WorkflowSla
from sluicegate.contracts.resources.workflow_component import Sla
from sluicegate.contracts.sla import promises
from sluicegate.contracts.sla_record import SlaEvidence, SlaRecord, differences, read, sealed

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def workflow(version: str = "1.0.0", component: str = "v1") -> AgentWorkflow:
    part = {
        "name": "agent",
        "version": component,
        "endpoint": {"protocol": "Http", "url": "http://127.0.0.1:1/"},
        "sideEffects": "None",
    }
    return AgentWorkflow.model_validate(
        {
            "apiVersion": "sluicegate.io/v1alpha1",
            "kind": "AgentWorkflow",
            "metadata": {"name": "bot"},
            "spec": {"version": version, "components": [part]},
        }
    )


def record(of: AgentWorkflow, **more: Any) -> SlaRecord:
    """A passed test, as the command writes it."""
    spec = of.spec
    facts: dict[str, Any] = {
        "tested": {
            "workflow": "bot",
            "version": spec.version,
            "digest": revision_digest(spec),
            "components": {part.name: part.version for part in spec.components},
        },
        "load": {
            "url": "http://127.0.0.1:1/", "arrivals": "poisson", "rate": "20", "duration": "60", "warmUp": "5", "thinkTime": "0",
            "timeout": "2", "seed": 1, "inputs": "sha256:" + "0" * 64, "inputCount": 3, "made": True,
        },
        "counted": {
            "warmUp": 100, "sessions": 200, "runs": 200, "succeeded": 200, "fellBack": 0, "unsent": 0, "late": 0, "unfinished": 0,
        },
        "confidence": "0.95",
        "findings": [
            {
                "measure": "latency", "promise": "p95 at most 500 ms", "limit": "0.05", "verdict": "Pass", "units": 200, "rate": "0.01",
                "low": "0.001", "high": "0.04", "decidedAt": 140,
            }
        ],
        "verdict": "Pass", "reason": "PromisesKept", "endedBy": "Decided", "startedAt": AT, "endedAt": AT,
    }  # fmt: skip
    return SlaRecord.model_validate(facts | more)


def told(sla: Sla) -> list[tuple[str, str]]:
    return [(one.text, str(one.most)) for one in promises(sla)]


def test_promises_are_shares_of_bad_runs() -> None:
    sla = WorkflowSla(
        max_latency_ms=800, latency_quantile="0.99", min_success_rate="0.97", max_fallback_rate="0.05"
    )
    assert told(sla) == [
        ("p99 at most 800 ms", "0.01"),
        ("success at least 0.97", "0.03"),
        ("fallbacks at most 0.05", "0.05"),
    ]


@pytest.mark.parametrize(
    ("sla", "expected"),
    [
        (Sla(), []),
        (Sla(min_success_rate="0"), []),  # every service keeps it
        (Sla(max_latency_ms=100), [("p95 at most 100 ms", "0.05")]),
        (
            Sla(max_fallback_rate="0"),
            [("fallbacks at most 0", "0")],
        ),  # nothing can show it; the command refuses it
    ],
)
def test_what_is_not_promised_is_not_judged(sla: Sla, expected: list[tuple[str, str]]) -> None:
    assert told(sla) == expected


def test_a_record_of_this_workflow_is_accepted_as_it_was_written() -> None:
    written = sealed(record(workflow())).to_json()
    assert differences(read(written), workflow()) == ()


def test_its_numbers_are_evidence_of_a_proposal() -> None:
    written = sealed(record(workflow(), producedBy="ci")).to_json()
    [found] = [QuantifiedEvidence.model_validate(item) for item in written["quantified"]]
    assert (found.type, found.samples, found.produced_by, found.digest) == (
        "sla-test",
        200,
        "ci",
        written["evidenceDigest"],
    )
    assert Decimal(found.low or "") < Decimal(found.value) < Decimal(found.high or "")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "Fail"),
        (("findings", 0, "units"), 2000),
        (("findings", 0, "high"), "0.02"),
        (("load", "url"), "http://elsewhere/"),
        (("counted", "late"), 1),
        (("endedAt",), "2027-03-01T12:00:00Z"),
    ],
)
def test_a_changed_record_shows(path: tuple[Any, ...], value: Any) -> None:
    written = sealed(record(workflow())).to_json()
    at: Any = written["record"]
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    assert "evidenceDigest" in {problem.path for problem in differences(read(written), workflow())}


def test_evidence_of_something_else_is_told_in_all_that_differs() -> None:
    found = sealed(record(workflow()))
    other = workflow(version="1.1.0", component="v2")
    assert [problem.path for problem in differences(found, other)] == [
        "record.tested.version",
        "record.tested.components",
        "record.tested.digest",
    ]


def test_numbers_beside_the_record_cannot_be_changed_either() -> None:
    found = sealed(record(workflow()))
    better = found.quantified[0].model_copy(update={"value": "0"})
    changed = SlaEvidence(evidence_digest=found.evidence_digest, record=found.record, quantified=(better,))
    assert [problem.path for problem in differences(changed, workflow())] == ["quantified"]


def test_what_is_no_evidence_is_refused_with_every_problem() -> None:
    with pytest.raises(Refused) as caught:
        read({"evidenceDigest": "abc", "record": {"type": "other"}})
    paths = {problem.path for problem in caught.value.problems}
    assert {"evidenceDigest", "record.type", "record.tested", "quantified"} <= paths
