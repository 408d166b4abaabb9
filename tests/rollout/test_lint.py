"""What is said of a workflow before anything runs; tests/rollout/test_power.py has the estimates."""

import math
from typing import Any

import pytest

from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Stage
from sluicegate.rollout import lint
from sluicegate.rollout.outlook import outlook
from tests.rollout.samples import SHORT, workflow, workflow_spec


def test_a_good_workflow_has_no_problem_and_an_estimate_for_each_stage() -> None:
    report = lint.lint(workflow(workflow_spec("2.0.0", **SHORT)))
    assert report.ok
    assert [stage.stage for stage in report.stages] == list(Stage)
    assert report.seconds == sum(stage.seconds or 0 for stage in report.stages)
    assert [stage.candidate_runs for stage in report.stages][:2] == [0, 0], (
        "no user sees a mirrored candidate"
    )


def test_the_split_of_alpha_adds_up_to_the_budget() -> None:
    stages = outlook(workflow_spec("2.0.0", **SHORT))
    spent = math.fsum(gate.abort_alpha for stage in stages for gate in stage.gates if gate.required)
    assert spent == pytest.approx(0.05, rel=1e-6)


def test_without_traffic_nobody_knows_how_long() -> None:
    spec = workflow_spec("2.0.0", **SHORT).model_copy(update={"expected_runs_per_hour": None})
    report = lint.lint(workflow(spec))
    assert report.seconds is None
    assert "expectedRunsPerHour" in report.warnings[0]


def test_a_stage_that_cannot_be_decided_in_time_is_a_warning() -> None:
    spec = workflow_spec("2.0.0", stages=[{"name": "Canary", "minRuns": 1, "maxDurationSeconds": 60}])
    assert any("Canary" in warning and "inconclusive" in warning for warning in lint.warnings(spec))


def test_the_share_that_a_warning_names_would_be_in_time() -> None:
    canary = {"name": "Canary", "minRuns": 1000, "maxDurationSeconds": 86400}
    slow = workflow_spec("2.0.0", stages=[{**canary, "share": {"numerator": 1}}])
    slow = slow.model_copy(update={"expected_runs_per_hour": 100})
    (warning,) = (text for text in lint.warnings(slow) if text.startswith("Canary"))
    percent = int(warning.partition("numerator: ")[2].partition("}")[0])
    assert percent > 1
    for share, is_late in ((percent, False), (percent - 1, True)):
        spec = workflow_spec("2.0.0", stages=[{**canary, "share": {"numerator": share}}])
        spec = spec.model_copy(update={"expected_runs_per_hour": 100})
        assert any(text.startswith("Canary") for text in lint.warnings(spec)) is is_late
    hopeless = slow.model_copy(update={"expected_runs_per_hour": 1})
    assert any("raise maxDurationSeconds" in text for text in lint.warnings(hopeless))


@pytest.mark.parametrize(
    ("sentence", "components", "whole", "is_told"),
    [
        ("promised by components alone", 100, None, True),
        ("promised by the workflow as well", 100, 100, False),
        ("promised by nobody", None, None, False),
    ],
)
def test_a_latency_is_a_warning_when_it_is(
    sentence: str, components: int | None, whole: int | None, is_told: bool
) -> None:
    spec = workflow_spec("2.0.0", **SHORT).to_json()
    for component in spec["components"]:
        component["sla"] = {"maxLatencyMs": components} if components else {}
    spec["contract"]["sla"] = {"maxLatencyMs": whole} if whole else {}
    told = [text for text in lint.warnings(WorkflowSpec.model_validate(spec)) if "maxLatencyMs" in text]
    assert bool(told) is is_told, sentence


def test_what_this_version_does_not_follow_is_a_warning() -> None:
    spec = workflow_spec("2.0.0")
    extra = {
        "retraining": [{"component": "agent", "when": {}, "backend": {}}],
        "contract": {"sla": {"maxAmplification": 4}},
    }
    told = lint.warnings(type(spec).model_validate(spec.to_json() | extra))
    assert told[0].split(" ")[0] == "spec.retraining"
    assert not any("nothing follows it" in text for text in lint.warnings(spec)[1:])


@pytest.mark.parametrize(
    ("sentence", "drill", "told"),
    [
        ("monthly, overdue after 35 days", {"schedule": "0 9 1 * *"}, []),
        (
            "monthly, overdue after a day",
            {"schedule": "0 9 1 * *", "overdueAfterSeconds": 86_400},
            ["overdueAfterSeconds"],
        ),
        # 100 runs an hour, 1 % of them, ten minutes: 100 * 0.01 / 6 = 0.17
        (
            "ten minutes of a quiet workflow",
            {"schedule": "0 9 1 * *", "durationSeconds": 600},
            ["about 0.2 runs"],
        ),
        ("no schedule: told elsewhere", {"schedule": "monthly"}, []),
    ],
)
def test_a_drill_that_would_rehearse_nothing_or_be_always_overdue_is_a_warning(
    sentence: str, drill: dict[str, Any], told: list[str]
) -> None:
    spec = workflow_spec("2.0.0").to_json()
    spec |= {"expectedRunsPerHour": 100, "businessFallback": {"ruleSet": "rules", "drill": drill}}
    found = [text for text in lint.warnings(WorkflowSpec.model_validate(spec)) if "Fallback.drill" in text]
    assert len(found) == len(told), sentence
    assert all(part in text for part, text in zip(told, found, strict=True)), sentence
