"""The example's files, wherever they are installed, made to fit the demo's ports and the version that is stable."""

import json
from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Any

from sluicegate.contracts.errors import NotFound

BASE = "http://127.0.0.1:9101"
Document = dict[str, Any]


def support_bot() -> Path:
    """The folder of the example: in an installed wheel beside this module, in a source tree under examples/."""
    installed = Path(str(resources.files("sluicegate.console"))) / "examples" / "support-bot"
    source = Path(__file__).parents[5] / "examples" / "support-bot"
    for folder in (installed, source):
        if (folder / "workflow.yaml").is_file():
            return folder
    raise NotFound(f"the example support-bot is neither in {installed} nor in {source}; reinstall sluicegate")


def read(path: Path) -> Document:
    """The one document of a YAML file of the example."""
    import yaml

    document = yaml.safe_load(path.read_text())
    assert isinstance(document, dict)  # noqa: S101 - our own file
    return document


def stable(base: str) -> Document:
    """Version 1, its components at `base`."""
    return moved(read(support_bot() / "workflow.yaml"), base)


def rules() -> Document:
    """The rule set that every version of the bot names."""
    return read(support_bot() / "fallback.yaml")


def candidate(name: str, base: str) -> Document:
    """One of candidates/, its components at `base`."""
    return moved(read(support_bot() / "candidates" / f"{name}.yaml"), base)


def moved(document: Document, base: str, *, name: str | None = None) -> Document:
    """A copy whose components are at `base` instead of BASE, under another name if one is given."""
    copy = deepcopy(document)
    for component in copy["spec"]["components"]:
        component["endpoint"]["url"] = component["endpoint"]["url"].replace(BASE, base)
    if name is not None:
        copy["metadata"]["name"] = name
    return copy


def on_top_of(document: Document, change: Document, origin: Document) -> Document:
    """`document` with what `change` changes of `origin`: components by name, version and reason."""
    before = {component["name"]: component for component in origin["spec"]["components"]}
    after = {component["name"]: component for component in change["spec"]["components"]}
    copy = deepcopy(document)
    copy["spec"]["components"] = [
        after[component["name"]] if after[component["name"]] != before[component["name"]] else component
        for component in copy["spec"]["components"]
    ]
    for field in ("version", "changeReason"):
        copy["spec"][field] = change["spec"][field]
    return copy


def write(document: Document, path: Path) -> None:
    """As YAML, so that it can be looked at and applied by hand."""
    import yaml

    copy = json.loads(json.dumps(document))  # no part is shared, so no anchors are written
    path.write_text(yaml.safe_dump(copy, sort_keys=False, width=110, allow_unicode=True))
