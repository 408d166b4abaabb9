"""What people decide: promote, abort, approve, reject, pause, resume, retry, review, override, undo."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluicegate.console import exits, output, program
from sluicegate.console.client import Object
from sluicegate.console.complete import complete_name
from sluicegate.console.output import Format
from sluicegate.console.session import Output, Session, connected, reading_runs
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.stages import Action

if TYPE_CHECKING:
    from sluicegate.console.acts import Act, Used
    from sluicegate.console.targets import Target

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Workflow or rollout.", autocompletion=complete_name)
]
Reason = Annotated[
    str, typer.Option("--reason", "-r", help="Why; kept with the decision.", show_default=False)
]
Wait = Annotated[
    float, typer.Option("--timeout", min=0.0, help="Seconds to wait until the decision was used.")
]
WAIT_SECONDS = 15.0
_NEEDS_REASON = {
    Action.OVERRIDE: "an override goes past missing evidence",
    Action.REJECT: "people will ask why",
}


class Judgement(StrEnum):
    """Verdict of a fallback review."""

    ACCEPTABLE = "Acceptable"
    UNACCEPTABLE = "Unacceptable"


def _plain(action: Action, text: str) -> Callable[..., Any]:
    """A command without options of its own."""

    def command(
        session: Session,
        name: Name,
        reason: Reason = "",
        timeout: Wait = WAIT_SECONDS,
        format: Output = Format.TABLE,
    ) -> int:
        if action in _NEEDS_REASON:
            _need_reason(reason, _NEEDS_REASON[action])
        return _decide(session, name, _act(action, reason), timeout, format)

    command.__name__ = action.value.lower()
    command.__doc__ = text
    return connected(command)


@connected
def promote(
    session: Session,
    name: Name,
    reason: Reason = "",
    full: Annotated[bool, typer.Option("--full", help="Past all stages at once; needs --reason.")] = False,
    timeout: Wait = WAIT_SECONDS,
    format: Output = Format.TABLE,
) -> int:
    """Leave the stage now, past the rest of its waiting time; never past a failed gate."""
    if full:
        _need_reason(reason, "--full skips every gate that is left")
    return _decide(session, name, _act(Action.PROMOTE, reason, full=full), timeout, format)


@reading_runs
def review(  # noqa: PLR0913 - one parameter per option
    session: Session,
    *,
    name: Name,
    run: Annotated[str | None, typer.Option(help="Run id of the fallback.", show_default=False)] = None,
    component: Annotated[
        str | None, typer.Option(help="Component that fell back.", show_default=False)
    ] = None,
    verdict: Annotated[
        Judgement | None, typer.Option(help="Your judgement.", case_sensitive=False, show_default=False)
    ] = None,
    reason: Reason = "",
    timeout: Wait = WAIT_SECONDS,
    format: Output = Format.TABLE,
) -> int:
    """Judge a sampled fallback; one unacceptable holds the rollout. Without --run: list what waits for a review."""
    target = _find(session, name)
    if run is None:
        return _list_fallbacks(session, target, format)
    missing = [flag for flag, value in (("--component", component), ("--verdict", verdict)) if value is None]
    if missing or verdict is None:
        raise Refused(tuple(Problem(path=flag, message="is needed with --run") for flag in missing))
    judged = {"runId": run, "component": component, "verdict": verdict.value}
    return _follow(session, target, _act(Action.REVIEW, reason, review=judged), timeout, format)


COMMANDS: dict[str, Callable[..., Any]] = {
    "promote": promote,
    "abort": _plain(Action.ABORT, "End the rollout: all traffic back to stable. Works in every state."),
    "approve": _plain(Action.APPROVE, "Agree to leave the stage, where its strategy asks for approvals."),
    "reject": _plain(
        Action.REJECT, "Refuse the candidate for good: traffic goes back to stable; needs --reason."
    ),
    "pause": _plain(Action.PAUSE, "Stop the clock: shares stay as they are and nothing is promoted."),
    "resume": _plain(Action.RESUME, "Go on after a pause."),
    "retry": _plain(Action.RETRY, "Try the same candidate again, with new evidence."),
    "review": review,
    "override": _plain(
        Action.OVERRIDE, "Go on although the stage is held or ended without enough evidence; needs --reason."
    ),
    "undo": _plain(
        Action.UNDO,
        "Take the candidate back: ends a running rollout; after a promotion the earlier stable returns.",
    ),
}


def _act(action: Action, reason: str, *, full: bool = False, review: Object | None = None) -> "Act":
    from sluicegate.console.acts import Act

    return Act(action=action, reason=reason, full=full, review=review)


def _need_reason(reason: str, why: str) -> None:
    if not reason.strip():
        raise Refused((Problem(path="--reason", message=f"is needed: {why}"),))


def _find(session: Session, name: str) -> "Target":
    from sluicegate.console.targets import find

    return find(session.client, session.namespace, name)


def _decide(session: Session, name: str, act: "Act", timeout: float, format: Format) -> int:
    from sluicegate.console.targets import find_undoable

    if act.action is Action.UNDO:
        target = find_undoable(session.client, session.namespace, name)
    else:
        target = _find(session, name)
    return _follow(session, target, act, timeout, format)


def _follow(session: Session, target: "Target", act: "Act", timeout: float, format: Format) -> int:
    from sluicegate.console.acts import decide

    used = decide(session.client, target, act, wait=timeout)
    if format is Format.NAME:
        output.echo(output.name_of(used.decision))
    elif not output.structured({"decision": used.decision, "result": used.record}, format):
        _say(act, target, used)
    if used.record is None:
        output.note(
            f"the decision is stored and was not used within {timeout:g} s; "
            f"see `{program.line('get decision/' + used.decision['metadata']['name'])}`"
        )
        return exits.TIMEOUT
    return exits.OK


def _say(act: "Act", target: "Target", used: "Used") -> None:
    """What happened: the act, its result, where the rollout was and is."""
    rollout, status = used.rollout, used.rollout.get("status") or {}
    before = (target.rollout or {}).get("status") or {}
    label = f"{act.action} of {rollout['metadata']['name']} ({rollout['spec']['candidate']['version']})"
    if used.record is None:
        output.echo(f"{label}: waiting")
        return
    text = used.record.get("message", "")
    output.echo(f"{label}: {output.word(used.record['result'])}" + (f", {text}" if text else ""))
    was, now = _where(before), _where(status)
    output.echo(f"  {was} → {now}" if was != now else f"  {now}")


def _where(status: Object) -> str:
    flags = "".join(f", {flag}" for flag in ("paused", "held") if status.get(flag))
    outcome = f" ({status['outcome']})" if status.get("outcome") else ""
    stage = status.get("stage") if status.get("state") not in {"Draining", "Done"} else None
    return f"{stage or status.get('state', 'Pending')}{outcome}, attempt {status.get('attempt', 1)}{flags}"


def _list_fallbacks(session: Session, target: "Target", format: Format) -> int:
    query = {"namespace": session.namespace, "workflow": target.workflow["metadata"]["name"]}
    if target.rollout is not None:
        query["rollout"] = target.rollout["metadata"]["uid"]
    found = session.client.fallbacks(query)
    if output.structured(output.as_list(found), format):
        return exits.OK
    rows = [
        tuple(str(one.get(key) or "") for key in ("runId", "component", "reason", "strategy"))
        for one in found
    ]
    if rows:
        output.echo(output.table(("Run", "Component", "Reason", "Strategy"), rows))
    output.note(f"{output.plural(len(rows), 'fallback')} to review")
    return exits.OK
