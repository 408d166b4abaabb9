"""JSON Schemas for editors agree with the models."""

import jsonschema  # type: ignore[import-untyped]
import pytest

from sluicegate.contracts.export import json_schemas, schema_of
from sluicegate.contracts.resources import KINDS
from tests.contracts.files import example, minimal
from tests.contracts.test_broken_files import RESOURCES


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_schema_with_descriptions(kind: str) -> None:
    schema = schema_of(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == json_schemas()[kind]
    assert schema["description"]
    undescribed = [
        name for name, part in schema["$defs"].items() if not part.get("description") and "enum" not in part
    ]
    assert undescribed in ([], ["JsonValue"])


def test_schema_accepts_what_the_models_accept() -> None:
    validator = jsonschema.Draft202012Validator(schema_of("AgentWorkflow"))
    assert list(validator.iter_errors(example())) == []
    assert list(validator.iter_errors(minimal())) == []


SHAPES = [
    "an unknown field",
    "a required field is missing",
    "a float as a share",
    "a float as a rate",
    "an unknown word",
]


@pytest.mark.parametrize("sentence", SHAPES)
def test_schema_refuses_what_the_models_refuse(sentence: str) -> None:
    validator = jsonschema.Draft202012Validator(schema_of("AgentWorkflow"))
    assert list(validator.iter_errors(RESOURCES[sentence][0]))
