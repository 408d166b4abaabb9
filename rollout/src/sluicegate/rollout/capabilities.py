"""What the schema knows and this version, in this mode, cannot run: refused at admission, with what to use instead."""

from collections.abc import Iterator

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources.source import JobSource
from sluicegate.contracts.resources.workflow import Component, Endpoint, Gate, WorkflowSpec
from sluicegate.rollout.model import Capabilities


def unsupported(spec: WorkflowSpec, can: Capabilities) -> Iterator[Problem]:
    """Every use of something that cannot be run."""
    if spec.runtime not in can.runtimes:
        yield _problem("spec.runtime", spec.runtime, can.runtimes, "runtime")
    for index, component in enumerate(spec.components):
        yield from _component(component, f"spec.components[{index}]", can)
    for number, stage in enumerate(spec.rollout.stages):
        for place, gate in enumerate(stage.gates or ()):
            if gate.signal not in can.signals:
                path = f"spec.rollout.stages[{number}].gates[{place}].signal"
                yield _problem(path, gate.signal, can.signals, "signal")
            yield from _source(gate, f"spec.rollout.stages[{number}].gates[{place}]", can)


def _job(job: JobSource, path: str, can: Capabilities) -> Iterator[Problem]:
    if not can.jobs:
        yield Problem(
            path=path,
            message="would start a process on this machine, which is not allowed here",
            value=" ".join(job.command)[:200] or job.image,
            allowed="on Kubernetes, or where `sluicegate up --allow-jobs` runs",
            hint="start `sluicegate up` with --allow-jobs if you trust whoever writes workflows",
        )
    elif not can.secrets and not job.command:
        yield Problem(
            path=f"{path}.command",
            message="is required in local mode, where no image is run",
            value="nothing",
            allowed="a program of this machine and its arguments",
        )
    for number, variable in enumerate(job.env):
        if variable.secret_key_ref is not None and not can.secrets:
            where = f"{path}.env[{number}].secretKeyRef"
            yield _absent(where, variable.secret_key_ref.name, "write a value")


def _source(gate: Gate, path: str, can: Capabilities) -> Iterator[Problem]:
    if gate.source is not None and gate.source.job is not None:
        yield from _job(gate.source.job, f"{path}.source.job", can)
    credential = None if gate.source is None else gate.source.credential_ref
    if credential is not None and credential.secret_key_ref is not None and not can.secrets:
        yield _absent(
            f"{path}.source.credentialRef.secretKeyRef",
            credential.secret_key_ref.name,
            "use credentialRef.env, a variable SLUICEGATE_SOURCE_… of the environment of `sluicegate up`",
        )
    if credential is not None and credential.env is not None and can.secrets:
        yield Problem(
            path=f"{path}.source.credentialRef.env",
            message="would let whoever writes a workflow send a token of the operator's away",
            value=credential.env,
            allowed="in local mode only",
            hint="use credentialRef.secretKeyRef, a Secret in the workflow's namespace",
        )


def _component(component: Component, path: str, can: Capabilities) -> Iterator[Problem]:
    yield from _endpoint(component.endpoint, f"{path}.endpoint", can)
    stub = component.mirror_stub
    if stub is not None and stub.endpoint is not None:
        yield from _endpoint(stub.endpoint, f"{path}.mirrorStub.endpoint", can)


def _endpoint(endpoint: Endpoint, path: str, can: Capabilities) -> Iterator[Problem]:
    if endpoint.protocol not in can.protocols:
        yield _problem(f"{path}.protocol", endpoint.protocol, can.protocols, "protocol")
    if endpoint.service_ref is not None and not can.services:
        yield _absent(f"{path}.serviceRef", endpoint.service_ref.name, "use url")
    prompt, credential = endpoint.prompt_ref, endpoint.credential_ref
    if prompt is not None and prompt.config_map is not None and not can.config_maps:
        yield _absent(f"{path}.promptRef.configMap", prompt.config_map, "write the prompt in endpoint.prompt")
    if credential is not None and credential.secret_key_ref is not None and not can.secrets:
        yield _absent(
            f"{path}.credentialRef.secretKeyRef",
            credential.secret_key_ref.name,
            "use credentialRef.env, a variable of the gateway's environment",
        )


def _problem(path: str, value: str, allowed: frozenset[str], what: str) -> Problem:
    return Problem(
        path=path,
        message=f"this {what} is not supported by this version in this mode",
        value=str(value),
        allowed=", ".join(sorted(str(item) for item in allowed)),
    )


def _absent(path: str, value: str, hint: str) -> Problem:
    return Problem(path=path, message="needs a cluster, there is none in local mode", value=value, hint=hint)
