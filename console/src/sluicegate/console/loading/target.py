"""What is called, and what its answer says: good or not, degraded or not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sluicegate.contracts.adapters import system
from sluicegate.contracts.compiled import CompiledWorkflow
from sluicegate.contracts.domains import CompiledDomain
from sluicegate.contracts.enforcing import Side
from sluicegate.contracts.resources.workflow import FailureStrategy
from sluicegate.contracts.runs import Arm, Failure, Policy, Violation
from sluicegate.gateway.jsonio import JsonError, parse
from sluicegate.gateway.ports import HttpAnswer
from sluicegate.gateway.protocols.base import CallContext, CallError, ComponentProtocol
from sluicegate.gateway.protocols.http import check_status

_MOST_SAID: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back of one run. status 0: no answer, `error` says why in the words of `Failure`."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    error: str | None = None
    said: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """fault: why the run was no success, None: it was. fell_back: None when the answer cannot tell.

    timed_out: the fault is that the generator waited no longer.
    """

    fault: str | None
    fell_back: bool | None
    timed_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A component or a workflow. request: of an input, what is posted. meaning: of its reply."""

    name: str
    url: str
    request: Callable[[Any], dict[str, Any]]
    meaning: Callable[[Reply], Meaning]


def component(protocol: ComponentProtocol, compiled: CompiledWorkflow, name: str, timeout: float) -> Target:
    """One component, called as the gateway calls it. It falls back when it says so, and when it fails and something else would
    have to answer for it (`onFailure`), as the gateway counts it.
    """
    part = compiled.components[name]
    domains = tuple(
        domain
        for step in (*compiled.steps, *compiled.after_answer)
        if step.component.name == name
        for domain in step.domains
    )
    falls = part.spec.on_failure.type is not FailureStrategy.FAIL

    def request(given: Any) -> dict[str, Any]:
        run = system.uuid7()
        made = protocol.request(_context(run, name, timeout), given)
        return {"url": made.url, "headers": made.headers, "body": made.body.decode()}

    def meaning(reply: Reply) -> Meaning:
        if reply.status == 0 or reply.body is None:
            return Meaning(fault=_unanswered(reply), fell_back=falls, timed_out=_timed_out(reply))
        try:
            answer = protocol.answer(HttpAnswer(reply.status, reply.body.encode()))
        except CallError as error:
            return Meaning(fault=_short(f"{error.failure}: {error.message}"), fell_back=falls)
        fault = _broken(answer.output, part.output, domains)
        return Meaning(fault=fault, fell_back=answer.fallback is not None or (falls and fault is not None))

    return Target(name=f"component {name}", url=protocol.url, request=request, meaning=meaning)


def workflow(url: str, compiled: CompiledWorkflow, name: str) -> Target:
    """A workflow behind its gateway, which names in a header what fell back."""

    def request(given: Any) -> dict[str, Any]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        return {"url": url, "headers": headers, "body": _json(given)}

    def meaning(reply: Reply) -> Meaning:
        if reply.status == 0 or reply.body is None:
            return Meaning(fault=_unanswered(reply), fell_back=False, timed_out=_timed_out(reply))
        is_gateway = "sluicegate-run-id" in reply.headers
        fell_back = "sluicegate-fallback" in reply.headers if is_gateway else None
        try:
            check_status(HttpAnswer(reply.status, reply.body.encode()))
            fault = _broken(parse(reply.body.encode()), compiled.output, ())
        except CallError as error:
            return Meaning(fault=f"HTTP {reply.status} ({error.failure})", fell_back=bool(fell_back))
        except JsonError as error:
            fault = _short(f"the answer is not JSON: {error}")
        return Meaning(fault=fault, fell_back=fell_back)

    return Target(name=f"workflow {name}", url=url, request=request, meaning=meaning)


def _context(run: str, step: str, timeout: float) -> CallContext:
    flat = run.replace("-", "")
    return CallContext(
        run_id=run,
        step=step,
        arm=Arm.STABLE,
        attempt=1,
        deadline_ms=round(timeout * 1000),
        stage=None,
        dry_run=False,
        traceparent=f"00-{flat}-{flat[-16:]}-01",
    )


def _broken(output: Any, check: Side, domains: tuple[CompiledDomain, ...]) -> str | None:
    """What of the contract the output breaks so that the gateway would refuse it, without its values."""
    for domain in domains:
        output, unknown = domain.apply(output)
        if fault := _fault(unknown):
            return fault
    return None if check.is_valid(output) else _fault(check.enforced(output, "output")[1])


def _fault(found: tuple[Violation, ...]) -> str | None:
    kinds = [one.kind for one in found if one.policy is Policy.FAIL]
    return f"{Failure.INVALID_OUTPUT}: {kinds[0]}" if kinds else None


def _unanswered(reply: Reply) -> str:
    if reply.status:
        return f"{Failure.FAULT}: the answer is too large"
    return _short(f"{reply.error}: {reply.said}" if reply.said else str(reply.error))


def _timed_out(reply: Reply) -> bool:
    return reply.status == 0 and reply.error == Failure.TIMEOUT


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SAID else text[: _MOST_SAID - 1] + "…"


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
