"""Where the server of a command is: `sluicegate up` on this machine, or a cluster. Pure, but for the environment.

The options may stand before the command or after it; the last one counts.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sluicegate.console import program

_ENVIRONMENT = {
    "namespace": "SLUICEGATE_NAMESPACE",
    "cluster": "SLUICEGATE_CLUSTER",
    "state_dir": "SLUICEGATE_STATE_DIR",
    "lineage_url": "SLUICEGATE_LINEAGE_URL",
}
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the command line and the environment say. None: nothing."""

    kubeconfig: Path | None = None
    context: str | None = None
    cluster: bool | None = None
    namespace: str | None = None
    act_as: str | None = None
    state_dir: Path | None = None
    lineage_url: str | None = None

    @property
    def is_cluster(self) -> bool:
        """`--kubeconfig`, `--context` or `--cluster`, or called by kubectl; `--local` is stronger."""
        if self.cluster is not None:
            return self.cluster
        return self.kubeconfig is not None or self.context is not None or program.is_plugin()

    @property
    def options(self) -> str:
        """What a hint needs to reach the same place."""
        if not self.is_cluster:
            return ""
        said = "".join(
            f" --{name} {value}"
            for name, value in (("kubeconfig", self.kubeconfig), ("context", self.context))
            if value is not None
        )
        return said or ("" if program.is_plugin() else " --cluster")


def of(context: Any) -> Place:
    """The place that a typer.Context and its parents say, else the environment."""
    names = [one.name for one in fields(Place)]
    found: dict[str, Any] = {}
    while context is not None:
        for name in names:
            value = context.params.get(name)
            if value is not None:
                found.setdefault(name, value)
        context = context.parent
    for name, variable in _ENVIRONMENT.items():
        if os.environ.get(variable):
            found.setdefault(name, os.environ[variable])
    return made(found)


def made(found: Mapping[str, Any]) -> Place:
    """Typed. A kubeconfig or a context on the command line is stronger than SLUICEGATE_CLUSTER."""
    typed = dict(found)
    for name in ("kubeconfig", "state_dir"):
        if name in typed:
            typed[name] = Path(typed[name]).expanduser()
    if isinstance(typed.get("cluster"), str):
        said = typed["cluster"].lower()
        on = said in _TRUE or bool({"kubeconfig", "context"} & typed.keys())
        typed["cluster"] = True if on else False if said in _FALSE else None
    return Place(**typed)
