"""What nearly every command takes: where the server is, whose namespace, on whose behalf."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer

from sluicegate.console.client import Client
from sluicegate.console.output import Format

StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir",
        envvar="SLUICEGATE_STATE_DIR",
        help="State folder of `sluicegate up`. Default: ~/.local/state/sluicegate.",
        show_default=False,
    ),
]
Namespace = Annotated[
    str, typer.Option("--namespace", "-n", envvar="SLUICEGATE_NAMESPACE", help="Namespace.")
]
ActAs = Annotated[
    str | None,
    typer.Option("--as", help="Act for this user; the server may refuse.", show_default=False),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="How to print.")]


@dataclass(frozen=True, slots=True)
class Session:
    """The server and the namespace of one command."""

    namespace: str = "default"
    state_dir: Path | None = None
    act_as: str | None = None
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        """Nothing is opened yet."""
        object.__setattr__(self, "client", Client(self.state_dir, act_as=self.act_as))


P = ParamSpec("P")
R = TypeVar("R")


def connected(function: Callable[Concatenate[Session, P], R]) -> Callable[..., R]:
    """A command whose first parameter is a Session: typer sees --namespace, --as and --state-dir instead."""

    @functools.wraps(function)
    def command(*args: Any, namespace: str, act_as: str | None, state_dir: Path | None, **kwargs: Any) -> R:
        return function(Session(namespace, state_dir, act_as), *args, **kwargs)

    own = list(inspect.signature(function).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter("namespace", keyword, default="default", annotation=Namespace),
        inspect.Parameter("act_as", keyword, default=None, annotation=ActAs),
        inspect.Parameter("state_dir", keyword, default=None, annotation=StateDir),
    ]
    parameters = [*(one.replace(kind=keyword) for one in own), *shared]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command
