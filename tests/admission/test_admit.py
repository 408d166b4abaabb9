"""The pure rules answer the table."""

from dataclasses import replace

import pytest

from sluicegate.contracts.errors import Forbidden, Refused
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import Resource, WorkflowRollout
from sluicegate.rollout.admission import admit
from sluicegate.rollout.model import AdmissionContext
from tests.admission.cases import CASES, COLLECTORS, OPERATOR, Case, Layer, Make
from tests.admission.objects import WORLDS, Json
from tests.rollout.samples import STABLE, T0


def context(case: Case) -> AdmissionContext:
    return AdmissionContext(
        now=T0,
        revisions=(STABLE,),
        permissions=case.verbs,
        controller=OPERATOR,
        collectors=COLLECTORS,
        is_status=case.is_status,
        may_run_jobs=False,
    )


def ask(case: Case) -> None:
    """Raises what the caller is told."""
    rollout = WORLDS[case.world]
    target = rollout.to_json()
    old, new = read(case.old, target), read(case.new, target)
    given = context(case)
    if new is not None and getattr(getattr(new, "spec", None), "target", None) is not None:
        given = with_target(given, rollout, new)
    admit(old, new, case.caller, given).require()


def read(make: Make | None, target: Json) -> Resource | None:
    return None if make is None else parse_data(make(target))


def with_target(given: AdmissionContext, rollout: WorkflowRollout, new: Resource) -> AdmissionContext:
    named = new.spec.target  # type: ignore[attr-defined]
    is_there = (named.kind, named.name) == (rollout.kind, rollout.metadata.name)
    return replace(given, target=rollout if is_there else None)


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if not case.paths])
def test_allowed(sentence: str) -> None:
    ask(CASES[sentence])


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case.paths])
def test_refused(sentence: str) -> None:
    case = CASES[sentence]
    with pytest.raises(Refused) as caught:
        ask(case)
    paths = [problem.path for problem in caught.value.problems]
    if case.by is Layer.POLICY:
        assert paths == list(case.paths)
        assert isinstance(caught.value, Forbidden) is case.barred
    else:
        assert all(any(path.startswith(wanted) for path in paths) for wanted in case.paths)
