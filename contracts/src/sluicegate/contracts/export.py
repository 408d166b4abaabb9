"""JSON Schemas of the kinds, for editors (yaml-language-server) and other tools."""

from typing import Any

from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.resources.base import API_VERSION

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schemas() -> dict[str, dict[str, Any]]:
    """Kind -> its JSON Schema, with the models' docstrings as descriptions."""
    return {name: schema_of(name) for name in KINDS}


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind. KeyError for an unknown one."""
    schema = KINDS[kind].model.model_json_schema(by_alias=True, mode="validation")
    schema["properties"]["apiVersion"] = {"const": API_VERSION, "type": "string"}
    schema["properties"]["kind"] = {"const": kind, "type": "string"}
    schema["required"] = sorted({*schema.get("required", ()), "apiVersion", "kind"})
    return {
        "$schema": _DIALECT,
        "$id": f"urn:sluicegate:v1alpha1:{kind.lower()}",
        **schema,
    }
