"""`run list` and `run show`: recorded runs as a table and as a tree. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text
from rich.tree import Tree

from sluicegate.console import output
from sluicegate.console.output import NONE
from sluicegate.contracts.runs import LinkOutcome, Policy, Trigger
from sluicegate.rollout.answers import ALERT

_STYLES = {
    "Ok": "green",
    "Succeeded": "green",
    "Failed": "red",
    "Rejected": "yellow",
    "Diverted": "yellow",
    "Fallback": "yellow",
    "Skipped": "dim",
}
_BODY = 160

Document = Mapping[str, Any]


def runs_table(runs: Sequence[Document], now: datetime, *, wide: bool = False) -> str:
    """One line per run and arm."""
    heads = ["Run", "Arm", "Served", "Stage", "Version", "Outcome", "Latency", "Reward", "Notes", "Age"]
    heads += ["Workflow", "Revision", "Error"] if wide else []
    return output.table(heads, [_run_row(run, now, wide=wide) for run in runs])


def _run_row(run: Document, now: datetime, *, wide: bool) -> tuple[str, ...]:
    row = (
        run["run_id"],
        run["arm"],
        "yes" if run.get("serving") else "no",
        run.get("stage") or NONE,
        run.get("version") or NONE,
        run["outcome"],
        ms(run.get("latency_ms")),
        NONE if run.get("reward") is None else f"{run['reward']:.2f}",
        _notes(run),
        output.age(run.get("started_at"), now),
    )
    extra = (
        f"{run.get('namespace')}/{run.get('workflow')}",
        str(run.get("revision") or ""),
        str(run.get("error") or ""),
    )
    return (*row, *extra) if wide else row


def _notes(run: Document) -> str:
    return ", ".join(name for name in ("fallback", "violated", "disagrees") if run.get(name)) or NONE


def ms(value: Any) -> str:
    """Milliseconds: `12.3 ms`, `1.24 s` from ten seconds on."""
    if value is None:
        return NONE
    number = float(value)
    return (
        f"{number / 1000:.2f} s"
        if number >= 10_000
        else f"{number:.0f} ms"
        if number >= 100
        else f"{number:.1f} ms"
    )


def run_tree(documents: Sequence[Document]) -> Tree:
    """A run: its arms, their steps with attempts, queue, fallbacks and violations, and how the answers differ."""
    first = documents[0]
    name = f"{first.get('namespace')}/{first.get('workflow')}"
    tree = Tree(
        Text.assemble(("run ", "dim"), (first["run_id"], "bold"), f"  {name}  {first.get('started_at', '')}")
    )
    if first.get("input") is not None:
        tree.add(_body("input", first["input"]))
    for document in documents:
        _arm(tree.add(_arm_head(document)), document)
    return tree


def _arm_head(document: Document) -> Text:
    outcome = document["outcome"]
    place = f", {document['stage']} attempt {document.get('attempt', 0)}" if document.get("stage") else ""
    reward = (
        ""
        if document.get("reward") is None
        else f"  reward {document['reward']:.2f} ({document.get('reward_source')})"
    )
    return Text.assemble(
        (document["arm"], "bold"),
        f"  {document.get('version')} ({document.get('revision')}){place}",
        ("  answered the user" if document.get("serving") else "  mirrored, answer dropped", "dim"),
        "  ",
        (outcome, _STYLES.get(outcome, "")),
        f"  {ms(document.get('latency_ms'))}{reward}",
    )


def _arm(branch: Tree, document: Document) -> None:
    for step in document.get("steps") or ():
        _step(branch.add(_step_head(step)), step)
    if document.get("error"):
        branch.add(Text(f"error: {document['error']}", style="red"))
    for violation in document.get("violations") or ():
        branch.add(_violation(violation))
    if document.get("output") is not None:
        branch.add(_body("output", document["output"]))
    if document.get("business"):
        _business(branch, document["business"])
    if document.get("bodies", "Kept") != "Kept":
        branch.add(Text(f"bodies: {document['bodies']}", style="dim"))
    if document.get("comparison"):
        _comparison(branch, document["comparison"])


def _step_head(step: Document) -> Text:
    outcome = step["outcome"]
    queued = [
        attempt["queue_ms"] for attempt in step.get("attempts") or () if attempt.get("queue_ms") is not None
    ]
    return Text.assemble(
        (outcome, _STYLES.get(outcome, "")),
        f"  {step['name']}",
        (f"  {step['component']} {step['version']}", "dim"),
        f"  {ms(step.get('latency_ms'))}" if outcome != "Skipped" else "",
        f"  queue {ms(sum(queued))}" if queued else "",
        "  stub" if step.get("stubbed") else "",
    )


def _step(branch: Tree, step: Document) -> None:
    attempts = step.get("attempts") or ()
    if len(attempts) > 1 or any(attempt.get("failure") for attempt in attempts):
        for attempt in attempts:
            branch.add(_attempt(attempt))
    fallback = step.get("fallback")
    if fallback:
        forced = ", forced" if fallback.get("forced") else ""
        branch.add(Text(f"fallback {fallback['strategy']}: {fallback['reason']}{forced}", style="yellow"))
    for violation in step.get("violations") or ():
        branch.add(_violation(violation))
    for side in ("request", "response"):
        if step.get(side) is not None:
            branch.add(_body(side, step[side]))


def _attempt(attempt: Document) -> Text:
    failure = attempt.get("failure")
    facts = [f"attempt {attempt['number']}", ms(attempt.get("service_ms"))]
    facts += [f"status {attempt['status']}"] if attempt.get("status") is not None else []
    facts += [str(failure)] if failure else ["ok"]
    facts += [str(attempt["message"])] if attempt.get("message") else []
    return Text("  ".join(facts), style="red" if failure else "dim")


def _violation(violation: Document) -> Text:
    policy = violation.get("policy", Policy.FAIL)
    done = "" if policy == Policy.FAIL else f" ({policy})"
    text = f"violation {violation['code']} {violation['path']}: {violation['message']}{done}"
    return Text(text, style="red" if policy == Policy.FAIL else "yellow")


def _business(branch: Tree, business: Document) -> None:
    """Who was asked, in order, and what they said."""
    who = f"{business.get('rule_set')} {business.get('version') or '(not there)'}"
    trigger, probe = business.get("trigger"), ", a probe" if business.get("probe") else ""
    why = "rehearsed in a drill" if trigger == Trigger.DRILL else f"asked for the {trigger}"
    asked = branch.add(Text(f"business fallback: {who}, {why}{probe}"))
    for link in business.get("chain") or ():
        text = f"{link['link']}  {link['outcome']}  {link.get('message') or ''}".rstrip()
        asked.add(Text(text, style="green" if link["outcome"] == LinkOutcome.ANSWERED else "yellow"))
    if business.get("hand_off"):
        asked.add(Text(f"hand-off: {business['hand_off']}"))
    for name in ("values", "answer"):
        if business.get(name):
            asked.add(_body(name, business[name]))


def _comparison(branch: Tree, comparison: Document) -> None:
    agrees = comparison["agrees"]
    text = "agrees with the user's answer" if agrees else "differs from the user's answer"
    if agrees and comparison["similarity"] < ALERT:
        text = "has the facts of the user's answer in other words"
    node = branch.add(
        Text(f"{text}  similarity {comparison['similarity']:.3f}", style="green" if agrees else "yellow")
    )
    for difference in comparison.get("differences") or ():
        node.add(Text(str(difference)))


def _body(label: str, value: Any) -> Text:
    import json

    text = json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= _BODY else text[: _BODY - 1] + "…"
    return Text.assemble((f"{label} ", "dim"), shown)


def documents_of(documents: Sequence[Document], arm: str | None) -> Iterator[Document]:
    """Those of one arm, or all."""
    return (one for one in documents if arm is None or one["arm"] == arm)
