"""A real API server with the kinds and the policies answers the table; no operator, no webhook."""

import pytest

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.resources.base import CHANGED_BY
from sluicegate.rollout.permissions import Verb
from tests.admission.api import Answer, Api, Caller
from tests.admission.cases import CASES, OPERATOR, Case, Layer
from tests.admission.objects import WORLDS, Json, sent
from tests.admission.test_admit import ask

pytestmark = pytest.mark.cluster

HERE = frozenset({Layer.SCHEMA, Layer.POLICY})
"""The layers that need no process."""


def world(api: Api, case: Case) -> Json:
    """The rollout there is, made by the operator."""
    rollout = WORLDS[case.world]
    operator = Caller(OPERATOR)
    made = api.create(sent(rollout), operator).require()
    status = {"metadata": made["metadata"], "kind": made["kind"], "status": rollout.to_json()["status"]}
    return api.replace({**made, **status}, operator, subresource="/status").require()


def author_of(item: Json) -> Caller:
    """Who may make it, whatever the case is about."""
    if item["kind"] == "Decision":
        return Caller.holding(item["spec"]["decidedBy"], Verb)
    if item["kind"] == "AgentWorkflow" and CHANGED_BY in item["metadata"]["annotations"]:
        return Caller(item["metadata"]["annotations"][CHANGED_BY])
    return Caller(OPERATOR)


def write(api: Api, case: Case) -> Answer:
    """Carry the case out."""
    target = world(api, case)
    caller = Caller.holding(case.caller, case.verbs)
    if case.old is None:
        assert case.new is not None
        return api.create(case.new(target), caller)
    old = api.create(case.old(target), author_of(case.old(target))).require()
    if case.new is None:
        return api.delete(old["kind"], old["metadata"]["name"], caller)
    version = old["metadata"]["resourceVersion"]
    at = "/status" if case.is_status else ""
    return api.replace(case.new(target), caller, subresource=at, version=version)


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case.by not in HERE])
def test_accepted(api: Api, sentence: str) -> None:
    write(api, CASES[sentence]).require()


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case.by is Layer.SCHEMA])
def test_refused_by_the_schema(api: Api, sentence: str) -> None:
    answer = write(api, CASES[sentence])
    assert answer.code == 422
    for path in CASES[sentence].paths:
        assert path in answer.message


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case.by is Layer.POLICY])
def test_refused_by_a_policy_in_the_words_of_the_pure_rules(api: Api, sentence: str) -> None:
    case = CASES[sentence]
    answer = write(api, case)
    assert answer.code == (403 if case.barred else 422), answer.message
    assert "ValidatingAdmissionPolicy" in answer.message
    with pytest.raises(Refused) as caught:
        ask(case)
    assert answer.message.endswith("; ".join(str(problem) for problem in caught.value.problems))
