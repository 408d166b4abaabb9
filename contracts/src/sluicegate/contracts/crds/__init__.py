"""CustomResourceDefinitions, made from the models. `crds/` holds them as golden files."""

from sluicegate.contracts.crds.definition import definition, definitions, file_name, written

__all__ = ["definition", "definitions", "file_name", "written"]
