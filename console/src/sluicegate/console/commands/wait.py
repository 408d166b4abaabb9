"""`sluicegate wait`: until a workflow's rollout is where a script needs it."""

import re
from collections.abc import Callable
from typing import Annotated

import typer

from sluicegate.console import exits, output
from sluicegate.console.client import Client, Object
from sluicegate.console.complete import complete_name
from sluicegate.console.session import Session, connected
from sluicegate.console.targets import Target, find
from sluicegate.contracts.errors import NotFound, Problem, Refused, Unavailable
from sluicegate.contracts.stages import Outcome, Stage

Answer = int | None
"""An exit code once the question is answered, None to go on waiting."""
_FORM = re.compile(r"(stage|condition|outcome|phase|delete)(?:=([A-Za-z]+)(?:=(True|False|Unknown))?)?")
_PHASES = ("Pending", "Progressing", "Paused", "Healthy", "Degraded")
_ALLOWED = "stage=Shadow, condition=Ready, condition=Ready=False, outcome=Promoted, phase=Healthy, delete"
_ORDER = list(Stage)


@connected
def wait(
    session: Session,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Workflow or rollout.", autocompletion=complete_name)
    ],
    for_: Annotated[str, typer.Option("--for", help=f"What to wait for: {_ALLOWED}.")],
    timeout: Annotated[float, typer.Option(min=0.0, help="Seconds.")] = 60.0,
) -> int:
    """Wait until something is true. Exit code 7 when it cannot become true any more, 8 when the time is over."""
    from sluicegate.console.waiting import until

    what, value, state = _parse(for_)
    name = name.rsplit("/", 1)[-1]
    question = _question(session.client, session.namespace, name, what, value, state)
    answer = until(question, timeout)
    if answer is None:
        output.note(f"{name}: {for_} not met after {timeout:g} s")
        return exits.TIMEOUT
    if answer == exits.OK:
        output.echo(f"{name} condition met: {for_}")
    return answer


def _parse(text: str) -> tuple[str, str, str]:
    match = _FORM.fullmatch(text)
    what, value, state = (match[1], match[2] or "", match[3] or "True") if match else ("", "", "")
    known: dict[str, list[str]] = {"stage": list(Stage), "outcome": list(Outcome), "phase": list(_PHASES)}
    found = next((word for word in known.get(what, ()) if word.lower() == value.lower()), None)
    wrong = (
        (what in known and found is None)
        or (what == "condition" and not value)
        or (what == "delete" and value)
    )
    if not match or wrong:
        allowed = ", ".join(known[what]) if what in known else _ALLOWED
        raise Refused(
            (Problem(path="--for", message="not something to wait for", value=repr(text), allowed=allowed),)
        )
    return what, found or value, state


def _question(
    client: Client, namespace: str, name: str, what: str, value: str, state: str
) -> Callable[[], Answer]:
    def ask() -> Answer:
        try:
            target = find(client, namespace, name)
        except NotFound:
            if what == "delete":
                return exits.OK
            raise
        except Unavailable:
            if seen:
                return None  # it restarts
            raise
        seen.append(target)
        return None if what == "delete" else _CHECKS[what](target, value, state)

    seen: list[Target] = []
    return ask


def _stage(target: Target, value: str, state: str) -> Answer:
    """Met in this stage and in every later one: a script must not miss a stage that was short."""
    del state
    status = _rollout_status(target)
    if status.get("outcome") in exits.ARRIVED:
        return exits.OK
    if status.get("outcome"):
        return _ended(target, status)
    here = status.get("stage")
    return exits.OK if here and _ORDER.index(Stage(here)) >= _ORDER.index(Stage(value)) else None


def _outcome(target: Target, value: str, state: str) -> Answer:
    del state
    status = _rollout_status(target)
    if status.get("state") != "Done":
        return None
    return exits.OK if status.get("outcome") == value else _ended(target, status)


def _phase(target: Target, value: str, state: str) -> Answer:
    del state
    return (
        exits.OK if _is_current(target.workflow) and target.workflow["status"].get("phase") == value else None
    )


def _condition(target: Target, value: str, state: str) -> Answer:
    """Of the workflow, and of the rollout for conditions that only it has; only as observed now."""
    objects = [target.workflow, *([target.rollout] if target.rollout else [])]
    for item in objects:
        for one in (item.get("status") or {}).get("conditions", ()):
            if one["type"].lower() == value.lower():
                if one["status"] == state and _is_current(item):
                    return exits.OK
                status = _rollout_status(target) if item is target.rollout else {}
                return _ended(target, status) if status.get("state") == "Done" else None
    return None


_CHECKS = {"stage": _stage, "outcome": _outcome, "phase": _phase, "condition": _condition}


def _rollout_status(target: Target) -> Object:
    """Of the rollout, once the controller has seen the workflow's last change."""
    if target.rollout is None or not _is_current(target.workflow):
        return {}
    return dict(target.rollout.get("status") or {})


def _is_current(item: Object) -> bool:
    return bool(
        (item.get("status") or {}).get("observedGeneration", 0) >= item["metadata"].get("generation", 1)
    )


def _ended(target: Target, status: Object) -> int:
    name = target.rollout["metadata"]["name"] if target.rollout is not None else ""
    output.note(f"{name} ended {status['outcome']}: {status.get('message', '')}")
    return exits.ENDED_OTHERWISE
