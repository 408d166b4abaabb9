"""The resources of group sluicegate.io, as frozen pydantic models."""

import re
from dataclasses import dataclass
from typing import Literal

from sluicegate.contracts.resources.base import Resource
from sluicegate.contracts.resources.component import AgentComponent
from sluicegate.contracts.resources.decision import Decision
from sluicegate.contracts.resources.fallback import FallbackRuleSet
from sluicegate.contracts.resources.governance import GovernancePolicy
from sluicegate.contracts.resources.proposal import ChangeProposal
from sluicegate.contracts.resources.retraining import RetrainingRun
from sluicegate.contracts.resources.revision import WorkflowRevision
from sluicegate.contracts.resources.rollout import WorkflowRollout
from sluicegate.contracts.resources.workflow import AgentWorkflow

__all__ = [
    "KINDS",
    "AgentComponent",
    "AgentWorkflow",
    "ChangeProposal",
    "Decision",
    "FallbackRuleSet",
    "GovernancePolicy",
    "Kind",
    "Resource",
    "RetrainingRun",
    "WorkflowRevision",
    "WorkflowRollout",
    "kind_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind and its names."""

    model: type[Resource]
    plural: str
    short: str
    applied_by_people: bool
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    """Cluster: without a namespace there; local mode keeps it in `default`."""

    @property
    def name(self) -> str:
        """PascalCase."""
        return self.model.__name__


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(model=AgentWorkflow, plural="agentworkflows", short="awf", applied_by_people=True),
        Kind(model=WorkflowRevision, plural="workflowrevisions", short="awr", applied_by_people=False),
        Kind(model=WorkflowRollout, plural="workflowrollouts", short="aro", applied_by_people=False),
        Kind(model=Decision, plural="decisions", short="dec", applied_by_people=True),
        Kind(model=AgentComponent, plural="agentcomponents", short="acp", applied_by_people=True),
        Kind(model=ChangeProposal, plural="changeproposals", short="cpr", applied_by_people=True),
        Kind(model=FallbackRuleSet, plural="fallbackrulesets", short="frs", applied_by_people=True),
        Kind(model=RetrainingRun, plural="retrainingruns", short="rtr", applied_by_people=True),
        Kind(
            model=GovernancePolicy,
            plural="governancepolicies",
            short="gpol",
            applied_by_people=True,
            scope="Cluster",
        ),
    )
}


def kind_of(word: str) -> Kind | None:
    """The kind that a person means by `word`: its name, singular, plural, short name or last word (`rollouts`), any case."""
    wanted = word.lower()
    for kind in KINDS.values():
        last = re.findall("[A-Z][a-z]+", kind.name)[-1].lower()
        several = kind.plural[len(kind.name) - len(last) :]
        if wanted in {kind.name.lower(), kind.plural, kind.short, last, several}:
            return kind
    return None
