"""Components can be called, in time and without harm."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.paths import EACH, RUN_PARTS, run_path
from sluicegate.contracts.resources.workflow import (
    Component,
    CredentialRef,
    Endpoint,
    MirrorStub,
    Phase,
    Protocol,
    SideEffects,
    Strategy,
)
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage
from sluicegate.contracts.suggestions import did_you_mean, listed, shown
from sluicegate.contracts.verification.facts import Facts

_ONLY_OPENAI = {
    "model": "model", "prompt": "prompt", "prompt_ref": "promptRef", "parameters": "parameters"
}  # fmt: skip


def _all_endpoints(facts: Facts) -> Iterator[tuple[str, Endpoint]]:
    for number, component in enumerate(facts.spec.components):
        yield f"spec.components[{number}].endpoint", component.endpoint
        if component.mirror_stub is not None and component.mirror_stub.endpoint is not None:
            yield f"spec.components[{number}].mirrorStub.endpoint", component.mirror_stub.endpoint


def addresses(facts: Facts) -> Iterator[Problem]:
    """An endpoint has one address."""
    for path, endpoint in _all_endpoints(facts):
        given = [
            name for name, value in (("url", endpoint.url), ("serviceRef", endpoint.service_ref)) if value
        ]
        if len(given) != 1:
            yield Problem(
                path=path,
                message="needs exactly one address",
                value=" and ".join(given) or "nothing",
                allowed="url or serviceRef",
                hint="remove one of the two" if given else "add url: http://…",
            )
        if endpoint.url is not None and not _is_reachable(endpoint.url):
            yield Problem(
                path=f"{path}.url",
                message="names no host, or a port that there is not",
                value=endpoint.url,
                allowed="http://host:port/path with a port of 1 to 65535",
                hint="http://127.0.0.1:9000/, for instance",
            )
        yield from _credential(f"{path}.credentialRef", endpoint.credential_ref)


def _is_reachable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is no number up to 65535, or a bracket is missing
        return False


def _credential(path: str, reference: CredentialRef | None) -> Iterator[Problem]:
    if reference is not None and (reference.env is None) == (reference.secret_key_ref is None):
        yield Problem(
            path=path,
            message="needs exactly one place of the token",
            value="both" if reference.env else "nothing",
            allowed="env or secretKeyRef",
            hint="env: MY_TOKEN, for instance",
        )


def protocol_fields(facts: Facts) -> Iterator[Problem]:
    """Model and prompt belong to OpenAI, which needs a model."""
    for path, endpoint in _all_endpoints(facts):
        if endpoint.protocol is not Protocol.OPENAI:
            for name, alias in _ONLY_OPENAI.items():
                if getattr(endpoint, name):
                    yield Problem(
                        path=f"{path}.{alias}",
                        message=f"{alias} has no meaning with protocol {endpoint.protocol.value}",
                        value=shown(getattr(endpoint, name)),
                        allowed="only with `protocol: OpenAI`",
                        hint="write `protocol: OpenAI`, or remove it",
                    )
            continue
        if not endpoint.model:
            yield Problem(
                path=f"{path}.model",
                message="is required with protocol OpenAI",
                value="nothing",
                allowed="the name under which the server offers the model",
                hint="add model",
            )
        if endpoint.prompt and endpoint.prompt_ref:
            yield Problem(
                path=f"{path}.promptRef",
                message="there are two prompts",
                value="prompt and promptRef",
                allowed="prompt or promptRef",
                hint="remove one of the two",
            )


def retries(facts: Facts) -> Iterator[Problem]:
    """Only what may be done twice is retried; back-off grows."""
    for number, component in enumerate(facts.spec.components):
        path, retry = f"spec.components[{number}].retry", component.retry
        if retry.max_attempts > 1 and not component.idempotent:
            yield Problem(
                path=f"{path}.maxAttempts",
                message="only idempotent components may be tried again",
                value=str(retry.max_attempts),
                allowed="1, or `idempotent: true`",
                hint="write `idempotent: true` if a call may be repeated without harm",
            )
        if retry.backoff.base_ms > retry.backoff.max_ms:
            yield Problem(
                path=f"{path}.backoff.baseMs",
                message=f"is above maxMs ({retry.backoff.max_ms})",
                value=str(retry.backoff.base_ms),
                allowed=f"at most {retry.backoff.max_ms}",
                hint="raise maxMs or lower baseMs",
            )


def latencies(facts: Facts) -> Iterator[Problem]:
    """No step in the request promises to be slower than the workflow."""
    limit = facts.spec.contract.sla.max_latency_ms
    called = {step.component for step in facts.steps if step.phase is Phase.IN_REQUEST}
    for number, component in enumerate(facts.spec.components):
        promised = component.sla.max_latency_ms
        if limit is not None and promised is not None and promised > limit and component.name in called:
            yield Problem(
                path=f"spec.components[{number}].sla.maxLatencyMs",
                message=f"is above what the whole workflow promises (spec.contract.sla.maxLatencyMs: {limit})",
                value=str(promised),
                allowed=f"at most {limit}",
                hint="lower it, raise the workflow's, or run the step AfterAnswer",
            )


def mirrors_change_nothing(facts: Facts) -> Iterator[Problem]:
    """A mirrored run never calls a Live component."""
    mirrored = [
        stage for stage in Stage if stage in MIRRORED_STAGES and _is_planned(stage, facts.spec.rollout)
    ]
    for number, component in enumerate(facts.spec.components):
        path = f"spec.components[{number}]"
        if component.side_effects is SideEffects.LIVE and component.mirror_stub is None and mirrored:
            yield _needs_stub(path, component, mirrored)
        if component.mirror_stub is not None:
            yield from _one_stub(f"{path}.mirrorStub", component.mirror_stub)


def _is_planned(stage: Stage, strategy: Strategy) -> bool:
    return stage not in strategy.skip_stages


def _needs_stub(path: str, component: Component, mirrored: list[Stage]) -> Problem:
    return Problem(
        path=f"{path}.mirrorStub",
        message=f"{component.name} is Live and would be called by mirrored runs in {' and '.join(mirrored)}",
        value="nothing",
        allowed="mirrorStub: {value: …} or {endpoint: …}; or sideEffects None or Sandboxed",
        hint=f"add what a mirrored run gets instead, or `skipStages: [{', '.join(mirrored)}]`",
    )


def _one_stub(path: str, stub: MirrorStub) -> Iterator[Problem]:
    given = [name for name in ("value", "endpoint") if getattr(stub, name) is not None]
    if len(given) != 1:
        yield Problem(
            path=path,
            message="needs exactly one stand-in",
            value=" and ".join(given) or "nothing",
            allowed="value (not null) or endpoint",
            hint="remove one of the two" if given else "add value",
        )


def redacted_paths(facts: Facts) -> Iterator[Problem]:
    """Redaction names parts of a run."""
    for number, text in enumerate(facts.spec.lineage.redact):
        path = f"spec.lineage.redact[{number}]"
        try:
            keys = run_path(text)
        except ValueError as error:
            near = did_you_mean(text.partition(".")[0], RUN_PARTS)
            yield Problem(
                path=path,
                message=str(error),
                value=shown(text),
                allowed="input.a[*].b, output.a, steps.<name>.output.a; * is every item",
                hint=near or f"begin with {', '.join(RUN_PARTS)}",
            )
            continue
        step = str(keys[1]) if keys[0] == "steps" else EACH
        if step != EACH and step not in facts.position:
            yield Problem(
                path=path,
                message=f"unknown step {step}, nothing would be redacted",
                value=shown(text),
                allowed=listed((*facts.position, "*")),
                hint=did_you_mean(step, facts.position) or "name a step of this workflow, or *",
            )


CHECKS = (addresses, protocol_fields, retries, latencies, mirrors_change_nothing, redacted_paths)
