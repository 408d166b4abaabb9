"""Tables of other programs as resources, and back."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sluicegate.console import output
from sluicegate.contracts.resources.base import API_VERSION

if TYPE_CHECKING:
    from sluicegate.contracts.resources import FallbackRuleSet
    from sluicegate.fallback_rules.exchange import Exported, Imported


def imported(content: bytes, kind: str, name: str) -> tuple[str, tuple[str, ...]]:
    """The resource as YAML, and notes. Raises Refused with what cannot be read."""
    from sluicegate.fallback_rules.exchange import jdm, sheets

    readers: dict[str, Callable[[bytes], Imported]] = {
        "jdm": jdm.from_jdm,
        "csv": sheets.from_csv,
        "xlsx": sheets.from_xlsx,
    }
    read = readers[kind](content)
    spec = read.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    resource = {
        "apiVersion": API_VERSION,
        "kind": "FallbackRuleSet",
        "metadata": {"name": name},
        "spec": spec,
    }
    return output.as_yaml(resource) + "\n", read.notes


def exported(resource: "FallbackRuleSet", kind: str) -> tuple[bytes, tuple[str, ...]]:
    """The table for another program, and notes."""
    from sluicegate.fallback_rules.exchange import dmn, jdm, sheets

    name, spec = resource.metadata.name, resource.spec
    writers: dict[str, Callable[[], Exported]] = {
        "jdm": lambda: jdm.to_jdm(spec, name),
        "csv": lambda: sheets.to_csv(spec),
        "xlsx": lambda: sheets.to_xlsx(spec),
        "dmn": lambda: dmn.to_dmn(spec, name),
    }
    written = writers[kind]()
    return written.content, written.notes
