"""The calls, as the gateway makes them: with the component's protocol, marked as a rehearsal."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sluicegate.console.trying.cases import Case
from sluicegate.console.trying.judging import Told
from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.resources.workflow import Component
from sluicegate.contracts.runs import Arm
from sluicegate.gateway.adapters.aiohttp_client import AiohttpClient
from sluicegate.gateway.ports import HttpClient, TransportError
from sluicegate.gateway.protocols.base import CallContext, CallError, ComponentProtocol
from sluicegate.gateway.protocols.places import Place
from sluicegate.gateway.protocols.table import PROTOCOLS

AT_ONCE: Final = 4
"""Calls in flight: a test is no load test."""
PATIENCE: Final = 30.0
"""Seconds for one call where the component declares none."""


def call_all(
    cases: Sequence[Case], protocols: Mapping[str, ComponentProtocol], done: Callable[[int], None]
) -> list[Told]:
    """The answers in the order of the cases. done: told how many have come."""
    return asyncio.run(_all(cases, protocols, done))


async def _all(
    cases: Sequence[Case], protocols: Mapping[str, ComponentProtocol], done: Callable[[int], None]
) -> list[Told]:
    client = AiohttpClient()
    slots, finished = asyncio.Semaphore(AT_ONCE), 0

    async def one(case: Case) -> Told:
        nonlocal finished
        async with slots:
            told = await _call(client, case, protocols[case.component.name])
        finished += 1
        done(finished)
        return told

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(case)) for case in cases]
    finally:
        await client.close()
    return [task.result() for task in tasks]


async def _call(client: HttpClient, case: Case, protocol: ComponentProtocol) -> Told:
    patience = case.component.spec.timeout_ms
    seconds = PATIENCE if patience is None else patience / 1000.0
    run_id = system.uuid7()
    context = CallContext(
        run_id=run_id,
        step=case.step.name if case.step else case.component.name,
        arm=Arm.STABLE,
        attempt=1,
        deadline_ms=int(seconds * 1000),
        stage=None,
        dry_run=True,
        traceparent=f"00-{run_id.replace('-', '')}-{run_id.replace('-', '')[:16]}-00",
    )
    try:
        url, headers, body = protocol.request(context, case.inputs)
        answer = protocol.answer(await client.post(url, headers, body, seconds))
    except (TransportError, CallError) as error:
        return Told(failure=error.failure, message=error.message)
    return Told(output=answer.output)


def protocols_of(
    components: Mapping[str, Component], urls: Mapping[str, str], credentials: Path | None = None
) -> dict[str, ComponentProtocol]:
    """How each component is called. urls: where one is instead of where its endpoint says. Raises Refused with all that cannot be called."""
    place = Place(namespace="default", credentials=credentials)
    problems: list[Problem] = []
    found: dict[str, ComponentProtocol] = {}
    for name, component in components.items():
        made = _protocol(component, urls.get(name), place)
        if isinstance(made, Problem):
            problems.append(made)
        else:
            found[name] = made
    if problems:
        raise Refused(tuple(problems))
    return found


def _protocol(component: Component, url: str | None, place: Place) -> ComponentProtocol | Problem:
    endpoint: Any = component.endpoint
    if url is not None:
        endpoint = endpoint.model_copy(update={"url": url, "service_ref": None})
    make, where = PROTOCOLS.get(endpoint.protocol), f"component {component.name}"
    if make is None:
        allowed = ", ".join(one.value for one in PROTOCOLS)
        return Problem(
            path=where,
            message="its protocol is not spoken here",
            value=endpoint.protocol.value,
            allowed=allowed,
        )
    if not place.address(endpoint):
        return Problem(
            path=where,
            message="its endpoint has no address here",
            hint=f"--url {component.name}=http://127.0.0.1:9000",
        )
    try:
        return make(component.model_copy(update={"endpoint": endpoint}), endpoint, place)
    except Refused as error:
        first = error.problems[0]
        return replace(first, path=f"{where}: {first.path}")
