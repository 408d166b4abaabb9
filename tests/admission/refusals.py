"""How each layer tells what the pure rules tell."""

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from sluicegate.contracts.errors import Problem, Refused
from tests.admission.api import Answer
from tests.admission.cases import Case, Layer
from tests.admission.test_admit import ask


def require_refusal(answer: Answer, case: Case) -> None:
    """By the layer of the case, with the code of the case, and in the words of the pure rules where they are its own."""
    assert answer.code == (403 if case.barred else 422), answer.body
    assert case.by is not None
    _TOLD[case.by](answer, case)


def _problems(case: Case) -> Sequence[Problem]:
    with pytest.raises(Refused) as caught:
        ask(case)
    return caught.value.problems


def _by_schema(answer: Answer, case: Case) -> None:
    assert " is invalid: " in answer.message
    for path in case.paths:
        assert path in answer.message


def _by_policy(answer: Answer, case: Case) -> None:
    assert "ValidatingAdmissionPolicy" in answer.message
    assert answer.message.endswith("; ".join(str(problem) for problem in _problems(case)))


def _by_webhook(answer: Answer, case: Case) -> None:
    assert "admission webhook" in answer.message
    causes, problems = answer.body["details"]["causes"], _problems(case)
    assert [cause["field"] for cause in causes] == [problem.path for problem in problems]
    for cause, problem in zip(causes, problems, strict=True):
        assert cause["message"].startswith(problem.message)


_TOLD: Final[dict[Layer, Callable[[Answer, Case], None]]] = {
    Layer.SCHEMA: _by_schema,
    Layer.POLICY: _by_policy,
    Layer.WEBHOOK: _by_webhook,
}
