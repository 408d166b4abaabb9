"""What the demo says. Pure: from objects to text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sluicegate.console import output
from sluicegate.console.demo import checks as demo_checks
from sluicegate.console.figures import gate_number
from sluicegate.console.local import LocalClient
from sluicegate.console.traffic import Answer, Tally


def opening(root: Path) -> str:
    """The first lines."""
    return "\n".join(
        (
            output.bold("Sluicegate demo: a support bot of four components, its users, and two changes."),
            f"State, files and logs: {root}",
            command(f"sluicegate up --state-dir {root}"),
        )
    )


def command(text: str) -> str:
    """A command that a person could have typed."""
    return output.dim(f"$ {text}")


def traffic(url: str, rate: float) -> str:
    """Who is asking."""
    return f"{rate:g} new users per second ask {url}"


def heading(version: str, what: str) -> str:
    """Before a rollout."""
    return "\n" + output.bold(f"── {version}: {what}")


def passage(rollout: dict[str, Any], answers: Sequence[Answer]) -> str:
    """Each stage of a rollout that has ended, who answered users in it, and the evidence it was left on."""
    lines = []
    for stage in demo_checks.passages(rollout):
        seconds = (stage.ended_at - stage.started_at).total_seconds() if stage.ended_at else 0.0
        counts = demo_checks.shares(answers, stage)
        users = ", ".join(f"{number} by {version}" for version, number in counts.items()) or "none"
        lines.append(
            f"{output.bold(stage.stage)}: {seconds:.0f} s, left by {stage.left_by.split(':')[0]}; users' runs: {users}"
        )
        lines += [_gate(gate) for gate in stage.gates]
    status = rollout.get("status") or {}
    lines.append(
        f"{output.word(str(status.get('outcome', 'not ended')))}: {status.get('message', '')}".rstrip(": ")
    )
    return "\n".join(lines)


def _gate(gate: dict[str, Any]) -> str:
    name = gate["name"] + (f" ({gate['component']})" if gate.get("component") else "")
    numbers = (
        f"candidate {gate_number(gate, 'candidate')}, stable {gate_number(gate, 'stable')}, n {gate['have']}"
    )
    lines = f"  {output.word(gate['verdict'])} {name}: {numbers}"
    if gate["verdict"] == "Fail":
        lines += f"\n    {gate['message']}"
        if gate.get("runs"):
            lines += f"\n    runs that show it: {', '.join(gate['runs'])}"
    return lines


def exposure(version: str, early: Sequence[Answer], *, served: bool) -> str:
    """Were users safe. served: whether the version answered any user at all."""
    if not served:
        return f"No user got an answer from {version}."
    if not early:
        return f"No user got an answer from {version} before it had passed Canary and Shadow."
    shown = ", ".join(answer.run_id for answer in early[:5])
    return output.word(f"Failed {len(early)} users got an answer from {version} too early: {shown}")


def back(version: str, after: int, others: int) -> str:
    """Where the traffic is after an abort."""
    return (
        f"Traffic is back: {after - others} of {after} runs asked after the abort were answered by {version}."
    )


def users(tally: Tally) -> str:
    """All that the users saw."""
    parts = [f"{number} by {version}" for version, number in sorted(tally.by_version().items())]
    failed = [
        f"{answer.status or 'no answer'} {answer.run_id}".strip()
        for answer in tally.answers
        if answer.status != 200
    ]
    end = "; every run was answered."
    if failed:
        end = (
            f"; {len(failed)} without a good answer ({', '.join(failed[:3])}): the example's components fail now and "
            "then, in every version."
        )
    return f"\nFrom the users' side: {len(tally.answers)} runs, {', '.join(parts)}{end}"


def commands(client: LocalClient, witness: str, *, keep: bool) -> str:
    """What to type next. Without keep nothing is left to look at."""
    if not keep:
        return "\n`sluicegate demo --keep` leaves everything running, to look further: get, describe, run show, run list."
    state = f"--state-dir {client.state.root}"
    found = (
        ("the last rollout, with its evidence", "sluicegate rollout status support-bot"),
        ("all rollouts", "sluicegate get aro"),
        ("what happened, and why", "sluicegate describe awf support-bot"),
        ("a run that shows the finding, step by step", f"sluicegate run show {witness}"),
        ("the last runs of the users", "sluicegate run list"),
    )
    return "\n".join(
        ("\nLook further:", *(f"  {text} {state}  {output.dim('# ' + why)}" for why, text in found))
    )


def verdict(*, passed: bool) -> str:
    """The last line."""
    if passed:
        return output.bold(
            "\nThe good candidate was promoted, the bad one aborted, and no user met either too early."
        )
    return output.bold("\nThe demo did not end as it should; see above.")
