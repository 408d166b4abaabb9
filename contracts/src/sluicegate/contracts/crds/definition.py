"""One kind as a CustomResourceDefinition (apiextensions.k8s.io/v1)."""

from collections.abc import Iterator
from typing import Any

import yaml

from sluicegate.contracts.crds.columns import COLUMNS, SELECTABLE
from sluicegate.contracts.crds.structure import Schema, structural
from sluicegate.contracts.resources import KINDS, Kind
from sluicegate.contracts.resources.base import GROUP

CATEGORY = "sluicegate"
VERSION = "v1alpha1"
LOOKED_AT = frozenset({"AgentWorkflow", "WorkflowRollout"})
"""Kinds whose status the control loop writes."""
UNSEEN = {"observedGeneration": -1}
"""Status before the first look: without it kstatus takes an object that nobody has looked at for finished."""


def definitions() -> Iterator[Schema]:
    """All of them, in the order of the kinds."""
    return (definition(kind) for kind in KINDS.values())


def definition(kind: Kind) -> Schema:
    """The CRD of a kind."""
    schema = structural(kind.model)
    version: Schema = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [column.to_json() for column in COLUMNS[kind.name]],
    }
    if "status" in schema["properties"]:
        version["subresources"] = {"status": {}}
    if kind.name in LOOKED_AT:
        schema["properties"]["status"]["default"] = dict(UNSEEN)
    if kind.name in SELECTABLE:
        version["selectableFields"] = [{"jsonPath": path} for path in SELECTABLE[kind.name]]
    names = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
        "shortNames": [kind.short],
        "categories": [CATEGORY],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{GROUP}",
            "labels": {"app.kubernetes.io/name": "sluicegate", "app.kubernetes.io/part-of": "sluicegate"},
        },
        "spec": {"group": GROUP, "scope": kind.scope, "names": names, "versions": [version]},
    }


def file_name(made: Schema) -> str:
    """``sluicegate.io_<plural>.yaml``."""
    return f"{GROUP}_{made['spec']['names']['plural']}.yaml"


def written(made: Schema) -> str:
    """As YAML, the same every time."""
    return str(yaml.dump(made, Dumper=_Plain, sort_keys=False, width=110, allow_unicode=True))


class _Plain(yaml.SafeDumper):
    """Without anchors: they help nobody who reads a CRD."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True
