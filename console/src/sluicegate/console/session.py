"""What nearly every command takes: where the server is, whose namespace, on whose behalf."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer

from sluicegate.console import places, program
from sluicegate.console.client import Client
from sluicegate.console.output import Format
from sluicegate.console.places import Place


def _where(*names: str, help: str) -> Any:
    """An option that says where the server is."""
    return typer.Option(*names, help=help, show_default=False, rich_help_panel="Where")


StateDir = Annotated[
    Path | None,
    _where(
        "--state-dir",
        help="State folder of `sluicegate up`. Default: $SLUICEGATE_STATE_DIR, else ~/.local/state/sluicegate.",
    ),
]
Namespace = Annotated[
    str | None,
    _where(
        "--namespace",
        "-n",
        help="Namespace. Default: $SLUICEGATE_NAMESPACE, else that of the context, else default.",
    ),
]
ActAs = Annotated[str | None, _where("--as", help="Act for this user; the server may refuse.")]
Kubeconfig = Annotated[
    Path | None,
    _where("--kubeconfig", help="A cluster, by this file instead of $KUBECONFIG or ~/.kube/config."),
]
Context = Annotated[str | None, _where("--context", help="A cluster, by this context of the kubeconfig.")]
Cluster = Annotated[
    bool | None,
    _where(
        "--cluster/--local",
        help="A cluster, by the kubeconfig's context, or inside a pod its own; or this machine's `sluicegate up`. "
        "Default: this machine, but a cluster for `kubectl sluicegate`, with --kubeconfig or --context, or "
        "SLUICEGATE_CLUSTER=1.",
    ),
]
LineageUrl = Annotated[
    str | None,
    _where(
        "--lineage-url",
        help="On a cluster: where recorded runs are read. Default: $SLUICEGATE_LINEAGE_URL, else through the API server.",
    ),
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="In all namespaces.")]
Output = Annotated[Format, typer.Option("--output", "-o", help="How to print.")]

SHARED: dict[str, Any] = {
    "namespace": Namespace,
    "act_as": ActAs,
    "kubeconfig": Kubeconfig,
    "context": Context,
    "cluster": Cluster,
    "state_dir": StateDir,
}


@dataclass(frozen=True, slots=True)
class Session:
    """The server and the namespace of one command."""

    namespace: str
    client: Client
    place: Place


def open_session(place: Place, *, timeout: float = 30.0) -> Session:
    """Nothing is sent yet; a kubeconfig is read."""
    program.called(program.name(), place.options)
    if not place.is_cluster:
        from sluicegate.console.local import LocalClient

        local = LocalClient(place.state_dir, act_as=place.act_as, timeout=timeout)
        return Session(place.namespace or "default", local, place)
    from sluicegate.console.cluster import connect

    cluster, namespace = connect(place, timeout=timeout)
    return Session(place.namespace or namespace, cluster, place)


P = ParamSpec("P")
R = TypeVar("R")


def connected(function: Callable[Concatenate[Session, P], R]) -> Callable[..., R]:
    """A command whose first parameter is a Session: typer sees --namespace, --as, --context and their kin instead."""
    return _with_session(function, SHARED)


def reading_runs(function: Callable[Concatenate[Session, P], R]) -> Callable[..., R]:
    """`connected`, of a command that reads recorded runs: with --lineage-url."""
    return _with_session(function, {**SHARED, "lineage_url": LineageUrl})


def _with_session(
    function: Callable[Concatenate[Session, P], R], options: Mapping[str, Any]
) -> Callable[..., R]:
    @functools.wraps(function)
    def command(ctx: typer.Context, *args: Any, **kwargs: Any) -> R:
        own = {name: value for name, value in kwargs.items() if name not in options}
        return function(open_session(places.of(ctx)), *args, **own)

    return with_options(function, command, options, skip=1)


def with_options(
    function: Callable[..., R], command: Callable[..., R], options: Mapping[str, Any], *, skip: int = 0
) -> Callable[..., R]:
    """`command` with the context, the parameters of `function` but the first `skip`, and `options`."""
    own = list(inspect.signature(function).parameters.values())[skip:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("ctx", keyword, annotation=typer.Context),
        *(one.replace(kind=keyword) for one in own),
        *(inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in options.items()),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command
