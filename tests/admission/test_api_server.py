"""A real API server with the kinds and the policies answers the table; no operator, no webhook."""

import pytest

from tests.admission.acting import write
from tests.admission.api import Api
from tests.admission.cases import CASES, Layer
from tests.admission.refusals import require_refusal

pytestmark = pytest.mark.cluster

HERE = frozenset({Layer.SCHEMA, Layer.POLICY})
"""The layers that need no process."""


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case.by not in HERE])
def test_accepted(api: Api, sentence: str) -> None:
    write(api, CASES[sentence]).require()


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case.by in HERE])
def test_refused_in_the_words_of_the_pure_rules(api: Api, sentence: str) -> None:
    require_refusal(write(api, CASES[sentence]), CASES[sentence])
