"""`sluicegate get`: objects as tables, JSON, YAML or names."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sluicegate.console import output
from sluicegate.console.client import Client, Object
from sluicegate.console.complete import complete_kind, complete_name
from sluicegate.console.output import Format
from sluicegate.console.session import AllNamespaces, Output, Session, connected
from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import NotFound, Problem, Refused

if TYPE_CHECKING:
    from sluicegate.contracts.resources import Kind

KindWord = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        help="Kind, plural or short name (awf, aro, awr, dec, acp), several with commas; or kind/name.",
        autocompletion=complete_kind,
    ),
]
Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", show_default=False, autocompletion=complete_name)
]
Labels = Annotated[
    str | None,
    typer.Option("--selector", "-l", help="Only with these labels: key=value,…", show_default=False),
]


@connected
def get(  # noqa: PLR0913 - one parameter per option
    session: Session,
    *,
    kind: KindWord,
    name: Names = None,
    format: Output = Format.TABLE,
    every: AllNamespaces = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on: one row per change.")] = False,
    selector: Labels = None,
) -> None:
    """Show objects. `sluicegate get awf`, `get rollouts -A -o wide`, `get awf/support-bot -o yaml`."""
    from sluicegate.console import targets

    word, first = targets.split(kind, None)
    names = [*([first] if first else []), *(name or ())]
    kinds = [targets.kind(part) for part in word.split(",")]
    if names and (every or len(kinds) > 1):
        raise Refused((Problem(path="NAME", message="a name goes with one kind and one namespace"),))
    _check_selector(selector)
    namespace = None if every else session.namespace
    if watch:
        _watch(session.client, kinds, namespace, (names, selector), format)
        return
    found = list(_read(session.client, kinds, namespace, names, selector))
    objects = [item for _, items in found for item in items]
    one = objects[0] if len(names) == 1 else output.as_list(objects)
    if output.structured(one, format):
        return
    if format is Format.NAME:
        for item in objects:
            output.echo(output.name_of(item))
        return
    _tables(session.client, found, namespace, format, counted=not names)


def _check_selector(selector: str | None) -> None:
    for part in (selector or "").split(",") if selector else ():
        if not part.partition("=")[0] or "=" not in part:
            raise Refused(
                (Problem(path="--selector", message="not a label", value=repr(part), allowed="key=value,…"),)
            )


def _read(
    client: Client, kinds: "Sequence[Kind]", namespace: str | None, names: Sequence[str], selector: str | None
) -> "Iterator[tuple[Kind, list[Object]]]":
    for kind in kinds:
        if names and namespace is not None:
            yield kind, [one(client, kind, namespace, name) for name in names]
        else:
            yield kind, client.listing(kind.plural, namespace, labels=selector)


def one(client: Client, kind: "Kind", namespace: str, name: str) -> Object:
    """The object, or NotFound with a did-you-mean."""
    from sluicegate.console import targets

    try:
        return client.get(kind.plural, namespace, name)
    except NotFound as error:
        raise targets.unknown(client, kind.plural, namespace, name, noun=kind.name) from error


def _tables(
    client: Client,
    found: "Sequence[tuple[Kind, list[Object]]]",
    namespace: str | None,
    format: Format,
    *,
    counted: bool,
) -> None:
    from sluicegate.console import columns

    shown = [(kind, items) for kind, items in found if items or len(found) == 1]
    for index, (kind, items) in enumerate(shown):
        if index:
            output.echo()
        if items:
            view = columns.of(kind.name, wide=format is Format.WIDE, namespaced=namespace is None)
            output.echo(
                output.table(
                    view.heads, view.rows(items, columns.context(client, kind.name, namespace), system.now())
                )
            )
        if counted:
            where = "in all namespaces" if namespace is None else f"in namespace {namespace}"
            output.note(
                f"{output.plural(len(items), kind.plural.removesuffix('s'))} {where}"
                if items
                else f"no {kind.plural} {where}"
            )


def _watch(
    client: Client,
    kinds: "Sequence[Kind]",
    namespace: str | None,
    only: tuple[Sequence[str], str | None],
    format: Format,
) -> None:
    """One row (or document) per change, heads once. only: names and labels."""
    from sluicegate.console import columns

    if len(kinds) != 1:
        raise Refused((Problem(path="--watch", message="one kind at a time can be watched"),))
    kind = kinds[0]
    view = columns.of(kind.name, wide=format is Format.WIDE, namespaced=namespace is None)
    widths: list[int] = []
    names, selector = only
    for change, item in client.watch(kind.plural, namespace, labels=selector):
        if names and item["metadata"]["name"] not in names:
            continue
        if format is Format.NAME:
            output.echo(output.name_of(item))
        elif not output.structured(item, format):
            (row,) = view.rows([item], columns.context(client, kind.name, namespace), system.now())
            for text in output.stream_rows(
                view.heads, (*row[:-1], "deleted") if change == "DELETED" else row, widths
            ):
                output.echo(text)
