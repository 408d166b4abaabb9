"""`sluicegate describe`: one object with conditions, gates, history, decisions and events."""

from typing import TYPE_CHECKING, Annotated

import typer

from sluicegate.console import output
from sluicegate.console.client import ROLLOUTS, Client, Object
from sluicegate.console.commands.get import KindWord, one
from sluicegate.console.complete import complete_name
from sluicegate.console.session import Session, connected
from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import NotFound

if TYPE_CHECKING:
    from sluicegate.console.describing import Related

EVENTS = 20


@connected
def describe(
    session: Session,
    kind: KindWord,
    name: Annotated[str | None, typer.Argument(autocompletion=complete_name, show_default=False)] = None,
) -> None:
    """Show everything about an object: `sluicegate describe awf support-bot`. Without a name: all of the kind."""
    from sluicegate.console import targets
    from sluicegate.console.describing import describe as page

    word, wanted = targets.split(kind, name)
    found = targets.kind(word)
    client, namespace = session.client, session.namespace
    items = [one(client, found, namespace, wanted)] if wanted else client.listing(found.plural, namespace)
    if not items:
        output.note(f"no {found.plural} in namespace {namespace}")
    for index, item in enumerate(items):
        if index:
            output.echo("\n")
        output.echo(page(item, _related(client, item), system.now()))


def _related(client: Client, item: Object) -> "Related":
    from sluicegate.console.describing import Related

    metadata = item["metadata"]
    events = client.events(metadata["namespace"], kind=item["kind"], name=metadata["name"], limit=EVENTS)
    name = _rollout_name(item)
    if name is None:
        return Related(events=events)
    try:
        rollout = client.get(ROLLOUTS, metadata["namespace"], name)
    except NotFound:
        return Related(events=events)
    if item["kind"] == "AgentWorkflow":
        events = client.events(metadata["namespace"], workflow=metadata["name"], limit=EVENTS)
    return Related(rollout=rollout, events=events)


def _rollout_name(item: Object) -> str | None:
    if item["kind"] == "Decision":
        return str(item["spec"]["target"]["name"])
    found = (item.get("status") or {}).get("rollout")
    return str(found) if found else None
