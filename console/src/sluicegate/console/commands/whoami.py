"""`sluicegate whoami`: whom the server takes you for, and what you may decide."""

from sluicegate.console import output
from sluicegate.console.output import Format
from sluicegate.console.session import Output, Session, connected


@connected
def whoami(session: Session, format: Output = Format.TABLE) -> None:
    """Show who you are to the server, and what you may decide in the namespace."""
    found = session.client.whoami(session.namespace)
    acts = acts_of()
    facts = {
        "user": found.user,
        "groups": list(found.groups),
        "namespace": session.namespace,
        "verbs": dict(found.verbs),
    }
    if output.structured(facts, format):
        return
    output.echo(found.user)
    if format is Format.NAME:
        return
    if found.groups:
        output.echo(f"groups: {', '.join(found.groups)}")
    output.echo(f"in namespace {session.namespace}:")
    rows = [(verb, "yes" if held else "no", acts.get(verb, "")) for verb, held in found.verbs.items()]
    output.echo(output.table(("Verb", "Held", "For"), rows))


def acts_of() -> dict[str, str]:
    """Verb → the commands that need it."""
    from sluicegate.rollout.permissions import VERBS, Verb

    found = {
        verb.value: ", ".join(action.lower() for action, needs in VERBS.items() if needs is verb)
        for verb in Verb
    }
    return found | {
        Verb.BREAKGLASS: "promote --full; taking the finalizer off a workflow",
        Verb.ATTEST: "applying a change in its author's name",
    }
