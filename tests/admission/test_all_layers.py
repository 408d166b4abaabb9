"""A real API server with kinds, policies and webhooks, and our admission server, answer the table as the pure rules do."""

from collections.abc import Iterator

import pytest

from sluicegate.contracts.resources.base import CHANGED_BY
from sluicegate.rollout.permissions import Verb
from tests.admission.acting import write
from tests.admission.api import Api, Caller
from tests.admission.asked import Webhook, answering
from tests.admission.cases import CASES
from tests.admission.objects import WORLDS, Json, decision, wish
from tests.admission.refusals import require_refusal
from tests.charts import installation
from tests.cluster.conftest import WEBHOOKS
from tests.controlplane.plane import ControlPlane
from tests.operator.up import until

pytestmark = pytest.mark.cluster

ALL = {f"/{what}/{plural}" for what in ("mutate", "validate") for plural in ("agentworkflows", "decisions")}


@pytest.fixture(scope="module")
def webhook(governed: ControlPlane) -> Iterator[Webhook]:
    """The chart's webhooks are in force, and answered."""
    place = Api(governed).in_fresh_namespace()
    governed.apply(*installation.manifests(WEBHOOKS))
    with answering(governed) as webhook:
        until("every webhook is asked", lambda: asked(place, webhook) == ALL)
        yield webhook
        governed.kubectl("delete", ",".join(WEBHOOKS), "sluicegate")
        until("no webhook is asked", lambda: not asked(place, webhook))


def asked(api: Api, webhook: Webhook) -> set[str]:
    """For a write of each of the two kinds that people make."""
    before = len(webhook.served.counts.admissions)
    for item in (wish("carol"), decision(WORLDS["canary"].to_json(), by="carol")):
        api.create(item, Caller.holding("carol", Verb))
    return {path for path, _ in webhook.served.counts.admissions[before:]}


def author_in(item: Json) -> str:
    """Who is named."""
    told: str = item["spec"].get("decidedBy") or item["metadata"]["annotations"][CHANGED_BY]
    return told


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if not case.paths])
def test_accepted(api: Api, webhook: Webhook, sentence: str) -> None:
    write(api, CASES[sentence], webhook.sees).require()


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case.stamped])
def test_made_right(api: Api, webhook: Webhook, sentence: str) -> None:
    case = CASES[sentence]
    assert author_in(write(api, case, webhook.sees).require()) == case.stamped


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case.paths and not case.stamped])
def test_refused_in_the_words_of_the_pure_rules(api: Api, webhook: Webhook, sentence: str) -> None:
    require_refusal(write(api, CASES[sentence], webhook.sees), CASES[sentence])
