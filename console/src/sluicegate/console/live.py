"""The view of a rollout: pure functions from objects to what is shown, and the loop that follows one.

Used by `rollout status` and by the demo. `render` makes a rich renderable; `line` one line of text for logs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sluicegate.console import exits, output, program
from sluicegate.console.client import Client, Object
from sluicegate.console.figures import gate_number, need, share, traffic
from sluicegate.console.output import age, span
from sluicegate.console.targets import find
from sluicegate.console.waiting import ticks
from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.stages import Outcome, Stage, State

MARKS = {"Pass": "✔", "Fail": "✘", "Wait": "…", "Inconclusive": "?", "Error": "!"}
STYLES = {"Pass": "green", "Fail": "bold red", "Wait": "cyan", "Inconclusive": "yellow", "Error": "red"}
PHASE_STYLES = {"Healthy": "green", "Progressing": "cyan", "Paused": "yellow", "Degraded": "bold red"}
MODES = {
    Stage.CANARY: "mirrored",
    Stage.SHADOW: "mirrored, compared",
    Stage.CONTROLLED: "of users",
    Stage.FULL: "of users",
}
EVENTS_SHOWN = 5
ROOMY = (100, 30)
"""Columns and lines of a terminal from which findings are spelt out; below, the numbers and the marks say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A workflow, its rollout (None: there is none), and recent events, newest first."""

    workflow: Object
    rollout: Object | None = None
    events: Sequence[Object] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How following ended. outcome is None for a workflow that is stable without a rollout."""

    snapshot: Snapshot
    outcome: Outcome | None = None
    timed_out: bool = False


def render(
    rollout: Object | None,
    workflow: Object,
    events: Sequence[Object] = (),
    *,
    now: datetime | None = None,
    compact: bool = False,
) -> RenderableType:
    """The whole view: head, stages, gates, events. now: for times in the stage; absent: not shown. compact: in few lines."""
    parts: list[RenderableType] = [_head(rollout, workflow)]
    if rollout is not None:
        parts += [_stages(rollout), _facts(rollout, now)]
        if _status(rollout).get("gates"):
            parts += ["", _gates(_status(rollout)["gates"], compact=compact)]
    if message := _message(rollout, workflow):
        parts += ["", Text(message, style="bold")]
    if events:
        parts += ["", _events(events, now, compact=compact)]
    return Panel(Group(*parts), title=Text(_name(workflow)), title_align="left", expand=True, padding=(0, 1))


def is_cramped(size: tuple[int, int]) -> bool:
    """Whether a terminal of so many columns and lines gets the compact view."""
    return any(has < wants for has, wants in zip(size, ROOMY, strict=True))


def line(rollout: Object | None, workflow: Object) -> str:
    """The same in one line, for logs: changes only when something was decided."""
    if rollout is None:
        return f"{_name(workflow)} {workflow.get('status', {}).get('phase', 'Pending')}"
    status = _status(rollout)
    where = status.get("stage") or status.get("state", State.PENDING)
    state = status.get("outcome") or status.get("state", "")
    flags = "".join(f" {flag}" for flag in ("paused", "held") if status.get(flag))
    gates = " ".join(f"{gate['name']}={gate['verdict']}" for gate in status.get("gates", ()))
    parts = [
        _name(workflow),
        f"{where}#{status.get('attempt', 1)}{flags}",
        traffic(status.get("share"), status.get("stage")) if state == where else state,
        gates,
    ]
    return "  ".join(part for part in parts if part and part != "-")


def follow(
    client: Client,
    namespace: str,
    name: str,
    *,
    show: Callable[[Snapshot], None],
    timeout: float | None = None,
) -> Ended:
    """Look until the rollout of workflow `name` (or the rollout of that name) has ended; `show` gets each look.

    A server that restarts meanwhile is waited for. Raises NotFound, and Unavailable if it never answered.
    """
    wanted: str | None = None
    last: Snapshot | None = None
    for _ in ticks(timeout, client.poll_seconds):
        try:
            last = look(client, namespace, name, rollout=wanted)
        except Unavailable:
            if last is None:
                raise
            continue
        show(last)
        if last.rollout is not None and (wanted or _is_current(last)):
            wanted = last.rollout["metadata"]["name"]
        if _is_over(last):
            return Ended(snapshot=last, outcome=_outcome(last))
    if last is None:
        raise Unavailable("no look was possible in the time given")
    return Ended(snapshot=last, timed_out=True)


def watch(client: Client, namespace: str, workflow: str, *, timeout: float | None = None) -> Ended:
    """Follow a rollout on the terminal: a live view, or one line per change where there is no terminal."""
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    if not console.is_terminal:
        return follow(client, namespace, workflow, show=Printer(output.echo), timeout=timeout)
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:

        def show(snapshot: Snapshot) -> None:
            live.update(
                render(
                    snapshot.rollout,
                    snapshot.workflow,
                    snapshot.events,
                    now=system.now(),
                    compact=is_cramped((console.width, console.height)),
                ),
                refresh=True,
            )

        return follow(client, namespace, workflow, show=show, timeout=timeout)


@dataclass(slots=True)
class Printer:
    """Prints a snapshot's line when it differs from the one before."""

    write: Callable[[str], Any]
    last: str = field(default="", init=False)

    def __call__(self, snapshot: Snapshot) -> None:
        """Print if something changed."""
        text = line(snapshot.rollout, snapshot.workflow)
        if text != self.last:
            self.last = text
            self.write(f"{system.now():%H:%M:%S}  {text}")


def look(client: Client, namespace: str, name: str, *, rollout: str | None = None) -> Snapshot:
    """One look. `name` is a workflow's or a rollout's; `rollout` pins which rollout."""
    target = find(client, namespace, name, rollout=rollout)
    events = client.events(namespace, workflow=target.workflow["metadata"]["name"], limit=EVENTS_SHOWN)
    return Snapshot(workflow=target.workflow, rollout=target.rollout, events=events)


def _is_current(snapshot: Snapshot) -> bool:
    """The controller has seen the workflow's last change."""
    status = snapshot.workflow.get("status") or {}
    return bool(status.get("observedGeneration", 0) >= snapshot.workflow["metadata"].get("generation", 1))


def _is_over(snapshot: Snapshot) -> bool:
    if not _is_current(snapshot) and snapshot.rollout is None:
        return False
    if snapshot.rollout is not None:
        return bool(_status(snapshot.rollout).get("state") == State.DONE) and _is_current(snapshot)
    return (snapshot.workflow.get("status") or {}).get("phase") in {"Healthy", "Degraded"}


def _outcome(snapshot: Snapshot) -> Outcome | None:
    found = _status(snapshot.rollout).get("outcome") if snapshot.rollout else None
    return Outcome(found) if found else None


def _status(rollout: Object) -> Object:
    return rollout.get("status") or {}


def _name(workflow: Object) -> str:
    metadata = workflow["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def _message(rollout: Object | None, workflow: Object) -> str:
    """Why it stands, what it still needs, or how it ended; what began a stage is among the events."""
    if rollout is None:
        return str((workflow.get("status") or {}).get("message", ""))
    status = _status(rollout)
    if status.get("state") == State.DONE:
        return str(status.get("message") or "")
    said = {one["type"]: one for one in status.get("conditions", ())}
    if (stalled := said.get("Stalled", {})).get("status") == "True" and stalled.get("message"):
        return str(stalled["message"])
    if said.get("AwaitingApproval", {}).get("status") == "True":
        return f"{_needs(status, said)}: {program.line('approve ' + workflow['metadata']['name'])}"
    if status.get("stage") and not status.get("samples") and not status.get("holdReason"):
        return "no run has been compared yet: does traffic go through the gateway?"
    return str(status.get("holdReason") or _needs(status, said))


def _needs(status: Object, said: Mapping[str, Object]) -> str:
    """`every gate passes; 0 of 1 approvals`, or that people will have to act; empty when only gates are open."""
    passed = status.get("gates") and all(
        gate["verdict"] == "Pass" for gate in status["gates"] if gate.get("required", True)
    )
    if passed:
        lacking = said.get("EvidenceSufficient", {}).get("message")
        return f"every gate passes; {lacking}" if lacking else ""
    people = [said[name] for name in ("AwaitingApproval", "AwaitingReview") if name in said]
    return "; ".join(dict.fromkeys(one["message"] for one in people if one["status"] == "True"))


def _head(rollout: Object | None, workflow: Object) -> Text:
    if rollout is None:
        phase = (workflow.get("status") or {}).get("phase", "Pending")
        return Text.assemble(
            f"version {workflow['spec']['version']}   ", (phase, PHASE_STYLES.get(phase, ""))
        )
    spec, status = rollout["spec"], _status(rollout)
    phase = status.get("outcome") or status.get("phase", "Pending")
    style = PHASE_STYLES.get(
        phase, "green" if phase in exits.ARRIVED else "bold red" if status.get("outcome") else ""
    )
    return Text.assemble(
        ("stable ", "dim"),
        spec["stable"]["version"],
        (" → candidate ", "dim"),
        spec["candidate"]["version"],
        "   ",
        (phase, style),
    )


def _stages(rollout: Object) -> Text:
    """`✔ Canary ▸ Shadow ━━━━╌╌╌╌ 412/1000 ▸ Controlled ▸ Full`."""
    status = _status(rollout)
    names = [stage["name"] for stage in rollout["spec"].get("stages", ())]
    here = status.get("stage")
    reached = names.index(here) if here in names else -1
    outcome = status.get("outcome")
    text = Text()
    for index, name in enumerate(names):
        text.append(" ▸ " if index else "", style="dim")
        if index < reached or outcome == Outcome.PROMOTED:
            text.append(f"✔ {name}", style="green")
        elif index > reached or outcome in exits.ARRIVED:
            text.append(name, style="dim")
        elif outcome:
            text.append(f"✘ {name}", style="bold red")
        else:
            text.append(f"{name} ", style="bold cyan").append_text(
                _bar(status.get("samples", 0), status.get("needed"))
            )
    return text


def _facts(rollout: Object, now: datetime | None) -> Text:
    status = _status(rollout)
    stage = status.get("stage")
    facts = [f"attempt {status.get('attempt', 1)}"]
    ended = bool(status.get("outcome"))
    if status.get("share") and not ended:
        facts.insert(0, f"share {share(status['share'])} {MODES[Stage(stage)] if stage else ''}".rstrip())
    if now is not None and status.get("stageStartedAt") and not status.get("endedAt"):
        facts.append(f"in stage {age(status['stageStartedAt'], now)}")
    if status.get("estimatedSecondsToDecision") and not ended:
        facts.append(f"about {span(status['estimatedSecondsToDecision'])} to a decision")
    if (
        status.get("programmedVersion", 0) < status.get("planVersion", 0)
        and status.get("state") != State.DONE
    ):
        facts.append("gateways not yet on this plan")
    text = Text(" · ".join(facts), style="dim")
    for flag, style in (("paused", "yellow"), ("held", "bold yellow")):
        if status.get(flag):
            text.append(f" · {flag}", style=style)
    return text


def _bar(have: int, wanted: int | None, width: int = 12) -> Text:
    if not wanted:
        return Text(str(have))
    full = min(width, have * width // wanted)
    return Text.assemble(("━" * full, "cyan"), ("╌" * (width - full), "dim"), f" {need(have, wanted)}")


def _gates(gates: Sequence[Object], *, compact: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=not compact)
    for head, right in (
        ("", False),
        ("gate", False),
        ("candidate", True),
        ("stable", True),
        ("have/need", False),
    ):
        table.add_column(head, justify="right" if right else "left", no_wrap=True)
    if not compact:
        table.add_column("finding", ratio=1, overflow="fold")
    for gate in gates:
        style = STYLES.get(gate["verdict"], "")
        name = gate["name"] + (f" ({gate['component']})" if gate.get("component") else "")
        table.add_row(
            Text(MARKS.get(gate["verdict"], "·"), style=style),
            name,
            gate_number(gate, "candidate"),
            gate_number(gate, "stable"),
            _bar(gate.get("have", 0), gate.get("need"), 8),
            *(() if compact else (Text(_finding(gate), style=style if gate["verdict"] == "Fail" else ""),)),
        )
    return table


def _finding(gate: Object) -> str:
    """What is still to say: the numbers stand beside it, so only a failure repeats them."""
    message = str(gate.get("message", ""))
    return message if gate["verdict"] == "Fail" else message.rpartition(": ")[2]


def _events(events: Sequence[Object], now: datetime | None, *, compact: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    shown = [
        (event, age(event.get("lastAt"), now) + " ago" if now is not None else "")
        for event in reversed(events[: EVENTS_SHOWN - 2 * compact])
    ]
    for words in ([when for _, when in shown], [event["reason"] for event, _ in shown]):
        table.add_column(no_wrap=True, min_width=max(map(len, words)))
    table.add_column(no_wrap=compact, overflow="ellipsis" if compact else "fold")
    for event, when in shown:
        style = "yellow" if event.get("type") == "Warning" else "dim"
        count = f" (×{event['count']})" if event.get("count", 1) > 1 else ""
        table.add_row(
            Text(when, style="dim"), Text(event["reason"], style=style), event.get("message", "") + count
        )
    return table


def ended(snapshot: Snapshot) -> Outcome | None:
    """The outcome of a rollout that is over, else None."""
    return _outcome(snapshot) if snapshot.rollout is not None and _is_over(snapshot) else None


def summary(snapshot: Snapshot) -> str:
    """The end in a few lines: outcome, reason, the gates that decided with numbers and run ids, where to look."""
    rollout, workflow = snapshot.rollout, snapshot.workflow
    if rollout is None:
        phase = (workflow.get("status") or {}).get("phase", "Pending")
        return f"{_name(workflow)} {workflow['spec']['version']}: {phase}"
    status, spec = _status(rollout), rollout["spec"]
    namespace = workflow["metadata"].get("namespace", "default")
    lines = [
        f"{_name(workflow)} {spec['stable']['version']} → {spec['candidate']['version']}: {status.get('outcome')}"
        + (
            f" in {status['stage']}"
            if status.get("stage") and status.get("outcome") not in exits.ARRIVED
            else ""
        )
    ]
    if status.get("message"):
        lines.append(f"  {status['message']}")
    runs: list[str] = []
    for gate in status.get("gates", ()):
        if gate["verdict"] == "Fail":
            both = f"candidate {gate_number(gate, 'candidate')}, stable {gate_number(gate, 'stable')}"
            told = "" if gate["message"] in status.get("message", "") else f": {gate['message']}"
            lines.append(f"  ✘ {gate['name']}: {both}, n {gate.get('have', 0)}{told}")
            runs += gate.get("runs", ())
    option = "" if namespace == "default" else f" -n {namespace}"
    lines += [f"  look:  {program.line(f'run show {run}')}" for run in dict.fromkeys(runs[:3])]
    lines.append("  more:  " + program.line(f"describe aro {rollout['metadata']['name']}{option}"))
    return "\n".join(lines)
