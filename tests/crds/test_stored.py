"""Objects stored by every released version are still read, accepted, and mean the same."""

import json
from pathlib import Path

import pytest

from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import KINDS, AgentWorkflow
from tests.crds.released import stored, versions
from tests.crds.server import Server

FILES = stored()
IDS = [f"{path.parent.name}-{path.stem}" for path in FILES]


def test_every_release_has_an_object_of_every_kind_that_it_had() -> None:
    assert versions()
    for version in versions():
        found = {
            json.loads(path.read_text())["kind"] for path in FILES if path.parent.name.endswith(f"-{version}")
        }
        assert found
        assert found <= set(KINDS)


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_a_stored_object_is_read_and_written_back_without_loss(path: Path) -> None:
    item = json.loads(path.read_text())
    again = parse_data(item).to_json()
    assert _lost(item, again) == []


def _lost(old: object, new: object, path: str = "") -> list[str]:
    """Places of `old` that `new` has not, or has otherwise."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [found for key, value in old.items() for found in _lost(value, new.get(key), f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            found
            for place, pair in enumerate(zip(old, new, strict=True))
            for found in _lost(*pair, f"{path}[{place}]")
        ]
    return [] if old == new else [path]


def test_a_stored_workflow_has_the_digest_that_it_had() -> None:
    """Recorded when the objects were frozen, but for their drill, which had no effect then and is no part of a revision since:
    another digest would start a rollout at the upgrade.
    """
    found = {
        revision_digest(resource.spec)
        for path in FILES
        if isinstance(resource := parse_data(json.loads(path.read_text())), AgentWorkflow)
    }
    assert found == {DIGEST}


DIGEST = "sha256:fb784c016c31d303099a8bbd4f166ef10096ebdd675b6ae40890c44d823de537"


@pytest.mark.cluster
@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_a_stored_object_is_accepted(server: Server, path: Path) -> None:
    item = json.loads(path.read_text())
    item["metadata"] = {"name": f"{item['metadata']['name']}-{path.stem.rpartition('-')[2]}"}
    found = server.stored(item)
    assert _lost(item["spec"], found["spec"]) == []
    assert _lost(item.get("status"), found.get("status")) == []
