"""What the webhook answers: the rules of `rollout.admission`, with what they look at read from the cache, and the target
of a decision from the API server before the decision is refused.

Who may use a custom verb is asked of the API server only where the answer changes something: a bot that names another
author, whoever names none, and whoever takes the finalizer off. The verbs of decisions are the admission policies' to check.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from sluicegate.contracts.adapters.system import Clock
from sluicegate.contracts.errors import NotFound, Problem, Refused
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import (
    AgentWorkflow,
    Decision,
    Resource,
    WorkflowRevision,
    WorkflowRollout,
)
from sluicegate.contracts.resources.base import CHANGED_BY, GROUP
from sluicegate.operator.cluster import edge, webhook_stamps
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.ports import ACCESS_REVIEWS, KubeApi, own
from sluicegate.operator.cluster.webhook_review import Answer, Request
from sluicegate.operator.loop.gather import typed
from sluicegate.operator.ports import Json
from sluicegate.rollout.admission import admit
from sluicegate.rollout.authority import runs_jobs
from sluicegate.rollout.model import FINALIZER, Admission, AdmissionContext, Capabilities, Ref
from sluicegate.rollout.permissions import Verb

Target = AgentWorkflow | WorkflowRollout
_TARGETS: Final[dict[str, type[Target]]] = {
    "AgentWorkflow": AgentWorkflow,
    "WorkflowRollout": WorkflowRollout,
}

COLLECTORS: Final = frozenset(
    {
        "system:kube-controller-manager",
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:serviceaccount:kube-system:namespace-controller",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAdmitter:
    """controller: the account that the operator writes as. synced: whether the cache holds everything."""

    api: KubeApi
    cache: Cache
    clock: Clock
    controller: str
    synced: Callable[[], bool]
    capabilities: Capabilities = field(default_factory=Capabilities)
    collectors: frozenset[str] = COLLECTORS

    async def validate(self, request: Request) -> Answer:
        """May the caller do this? Unavailable when the API server cannot be asked what has to be known."""
        if not self.synced():
            return Answer(
                code=503,
                reason="ServiceUnavailable",
                message="the operator is starting and has not read everything yet; try again in a few seconds",
            )
        try:
            old, new = await asyncio.to_thread(_parsed, request)
        except Refused as refused:
            return _answer(Admission(problems=refused.problems))
        context = await self._context(request, old, new)
        admission = await asyncio.to_thread(admit, old, new, request.caller, context)
        if not admission.allowed and isinstance(
            new, Decision
        ):  # the person may have seen more than the cache has
            context = replace(context, target=await self._read(new))
            admission = await asyncio.to_thread(admit, old, new, request.caller, context)
        return _answer(admission)

    async def mutate(self, request: Request) -> Answer:
        """Who wrote it, where that is not said."""
        old, new = request.old, request.new
        if new is None or request.subresource or request.caller == self.controller:
            return Answer()
        if request.kind == "Decision":
            return Answer(
                patch=tuple(webhook_stamps.decision_patch(new, request.caller) if old is None else ())
            )
        attests = webhook_stamps.is_left(old, new, request.caller) and await self._may(request, Verb.ATTEST)
        return Answer(patch=tuple(webhook_stamps.author_patch(old, new, request.caller, attests=attests)))

    async def _context(
        self, request: Request, old: Resource | None, new: Resource | None
    ) -> AdmissionContext:
        return AdmissionContext(
            now=self.clock.now(),
            revisions=self._revisions(old) if isinstance(old, AgentWorkflow) else (),
            target=self._target(new) if isinstance(new, Decision) else None,
            permissions=await self._permissions(request, old, new),
            capabilities=self.capabilities,
            controller=self.controller,
            collectors=self.collectors,
            is_status=request.subresource == "status",
            may_run_jobs=await self._may_run_jobs(request, old, new),
        )

    def _revisions(self, workflow: AgentWorkflow) -> tuple[WorkflowRevision, ...]:
        found = self.cache.owned("WorkflowRevision", workflow.metadata.uid or "")
        return tuple(typed(edge.inward(item), WorkflowRevision) for item in found)

    def _target(self, decision: Decision) -> Target | None:
        """As the cache has it."""
        target = decision.spec.target
        held = self.cache.get(Ref(target.kind, decision.metadata.namespace, target.name))
        return None if held is None else _typed(target.kind, held)

    async def _read(self, decision: Decision) -> Target | None:
        """As the API server has it."""
        target = decision.spec.target
        if target.kind not in _TARGETS:
            return None
        try:
            held = await self.api.get(own(target.kind), decision.metadata.namespace, target.name)
        except NotFound:
            return None
        return _typed(target.kind, held)

    async def _permissions(
        self, request: Request, old: Resource | None, new: Resource | None
    ) -> frozenset[Verb] | None:
        """None: no rule that is left to us asks."""
        if not isinstance(new, AgentWorkflow) or request.caller == self.controller:
            return None
        asked = []
        spec = old.spec if isinstance(old, AgentWorkflow) else None
        if spec != new.spec and new.metadata.annotations.get(CHANGED_BY) not in {None, request.caller}:
            asked.append(Verb.ATTEST)
        before = old.metadata.finalizers if old is not None else ()
        if FINALIZER in before and FINALIZER not in new.metadata.finalizers:
            asked.append(Verb.BREAKGLASS)
        if not asked:
            return None
        return frozenset([verb for verb in asked if await self._may(request, verb)])

    async def _may_run_jobs(self, request: Request, old: Resource | None, new: Resource | None) -> bool:
        """Asked where a change of spec has gates that start Jobs."""
        if not isinstance(new, AgentWorkflow) or request.caller == self.controller or not runs_jobs(new.spec):
            return True
        if isinstance(old, AgentWorkflow) and old.spec == new.spec:
            return True
        attributes = {
            "group": "batch",
            "resource": "jobs",
            "verb": "create",
            "namespace": request.namespace,
        }
        return await self._is_allowed(request, attributes)

    async def _may(self, request: Request, verb: Verb) -> bool:
        subject = request.new or request.old or {}
        return await self._is_allowed(
            request,
            {
                "group": GROUP,
                "resource": "agentworkflows",
                "verb": verb.value,
                "namespace": request.namespace,
                "name": subject.get("metadata", {}).get("name", ""),
            },
        )

    async def _is_allowed(self, request: Request, attributes: Json) -> bool:
        spec = {
            "user": request.caller,
            "groups": request.user.get("groups") or [],
            "extra": request.user.get("extra") or {},
            "resourceAttributes": attributes,
        }
        answer = await self.api.review(ACCESS_REVIEWS, {"spec": spec})
        return bool(answer.get("status", {}).get("allowed"))


def _typed(kind: str, held: Json) -> Target | None:
    return typed(edge.inward(held), _TARGETS[kind]) if kind in _TARGETS else None


def _parsed(request: Request) -> tuple[Resource | None, Resource | None]:
    """Both objects. What an older version stored may be unreadable now; that is no reason to keep it as it is: an old
    one then counts as absent, and whoever leaves its spec alone may change the rest.
    """
    old, new = request.old, request.new
    before = None
    with suppress(Refused):
        before = None if old is None else parse_data(edge.inward(old))
    if new is None:
        return before, None
    wanted = edge.inward(new)
    if request.subresource != "status":
        wanted = {key: value for key, value in wanted.items() if key != "status"}
    try:
        return before, parse_data(wanted)
    except Refused:
        if old is not None and old.get("spec") == new.get("spec"):
            return None, None
        raise


def _answer(admission: Admission) -> Answer:
    if admission.allowed:
        return Answer(warnings=admission.warnings)
    code, reason = (403, "Forbidden") if admission.forbidden else (422, "Invalid")
    return Answer(code=code, reason=reason, message=_message(admission.problems), problems=admission.problems)


def _message(problems: tuple[Problem, ...]) -> str:
    return "\n".join(str(problem) for problem in problems)
