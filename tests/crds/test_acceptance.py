"""The CRDs on a real API server: accepted, explained, and what is put in comes out."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random  # noqa: TID251 - the type of what hypothesis gives
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from sluicegate.contracts.crds import definition
from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.documents import load
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import KINDS, AgentWorkflow, WorkflowRevision
from sluicegate.contracts.resources.base import Resource
from tests.contracts import kinds
from tests.contracts.files import EXAMPLE, example, minimal
from tests.controlplane.plane import ControlPlane
from tests.crds.server import Server
from tests.rollout.samples import SHORT, workflow_spec
from tests.simulation.world import World

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
MANIFESTS = sorted(
    path
    for path in (ROOT / "examples").rglob("*.yaml")
    if "sluicegate.io/v1alpha1" in path.read_text() and "{{" not in path.read_text()
)
_QUIET = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_every_crd_is_established_and_structural(server: Server) -> None:
    found = server.served("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    ours = {item["spec"]["names"]["kind"]: item for item in found if item["spec"]["group"] == "sluicegate.io"}
    assert set(ours) == set(KINDS)
    for kind, item in ours.items():
        truths = {one["type"]: one["status"] for one in item["status"]["conditions"]}
        assert truths["Established"] == "True", kind
        assert truths["NamesAccepted"] == "True", kind
        assert "NonStructuralSchema" not in truths, kind
        assert item["status"]["storedVersions"] == ["v1alpha1"]


def test_the_api_server_changes_nothing_in_a_crd(server: Server) -> None:
    """A default that it fills in would make every apply of the chart a difference."""
    for kind in KINDS.values():
        made = definition(kind)
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{made['metadata']['name']}"
        stored = server.served(path)["spec"]
        assert {key: stored[key] for key in made["spec"]} == made["spec"]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_of_the_project_is_accepted(server: Server, path: Path) -> None:
    for document in load(path.read_bytes()):
        if document.data["apiVersion"].startswith("sluicegate.io/"):
            server.create(document.data, dry=True).require()


def test_the_design_s_own_example_is_accepted_by_kubectl(installed: ControlPlane) -> None:
    """kubectl reads YAML 1.1, where a bare `on` is a truth value: in the file it has quotes."""
    text = EXAMPLE.replace("on: Job", '"on": Job').replace("namespace: shop", "namespace: default")
    installed.kubectl("apply", "--server-side", "--dry-run=server", "--filename=-", input=text)


def comparable(resource: Resource, kept: dict[str, Any]) -> dict[str, Any]:
    """Without what the API server gives, and without the status of an object that nobody looked at."""
    data = resource.to_json()
    metadata = {key: data["metadata"][key] for key in kept["metadata"] if key in {"labels", "annotations"}}
    status = data.get("status") if "status" in kept else None
    return {**data, "metadata": metadata, "status": status}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_full_object_comes_back_as_it_went_in(server: Server, kind: str) -> None:
    item = kinds.full(kind)
    stored = server.stored(item)
    assert comparable(parse_data(stored), item) == comparable(parse_data(item), item)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_a_model_writes_is_stored_as_it_is(server: Server, kind: str) -> None:
    """Written again it is no change: the control loop would come back to it for ever."""
    stored = server.stored(parse_data(kinds.full(kind)).to_json())
    again = server.replace(parse_data(stored).to_json(), dry=True).require()
    assert again["metadata"]["generation"] == 1


def thinned(value: Any, chance: Random) -> Any:
    """With one to four of its parts left out, at any depth: with more hardly an object would be whole."""
    left = copy.deepcopy(value)
    for _ in range(chance.randint(1, 4)):
        part, key = chance.choice(list(_parts(left)))
        del part[key]
    return left


def _parts(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key
            yield from _parts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _parts(item)


@pytest.mark.parametrize("kind", sorted(KINDS))
@_QUIET
@given(chance=st.randoms(use_true_random=False))
def test_what_the_server_takes_the_models_read_as_it_was(server: Server, kind: str, chance: Random) -> None:
    """Whatever is left out of an object: both take it and mean the same, or the models refuse it."""
    item = {**kinds.of(kind), "spec": thinned(kinds.SPECS[kind], chance)}
    answer = server.create(item, dry=True)
    if answer.code < 400:
        assert comparable(parse_data(answer.body), item) == comparable(parse_data(item), item)
    else:
        assert answer.causes, answer.body


@_QUIET
@given(chance=st.randoms(use_true_random=False))
def test_the_digest_is_the_same_through_the_api_server(server: Server, chance: Random) -> None:
    """Defaults of the schema are the models': a revision is the same, made from a file or from the cluster."""
    item = {**kinds.of("AgentWorkflow"), "spec": thinned(example()["spec"], chance)}
    try:
        meant = parse_data(item)
    except Refused:
        reject()
    answer = server.create(item, dry=True)
    if answer.code < 400:
        found = parse_data(answer.body)
        assert isinstance(found, AgentWorkflow)
        assert isinstance(meant, AgentWorkflow)
        assert revision_digest(found.spec) == revision_digest(meant.spec)


@pytest.mark.parametrize("data", [example(), minimal()], ids=["example", "minimal"])
def test_the_digest_of_a_stored_revision_is_that_of_its_workflow(
    server: Server, data: dict[str, Any]
) -> None:
    workflow = parse_data(server.create({**data, "metadata": {"name": "w"}}, dry=True).require())
    assert isinstance(workflow, AgentWorkflow)
    body = workflow.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    revision = kinds.of("WorkflowRevision")
    stored = parse_data(server.stored({**revision, "spec": {**revision["spec"], "body": body}}))
    assert isinstance(stored, WorkflowRevision)
    assert revision_digest(stored.spec.body) == revision_digest(workflow.spec)
    assert revision_digest(workflow.spec) == revision_digest(parse_data(data).spec)  # type: ignore[attr-defined]


def test_what_the_control_loop_writes_comes_back(server: Server) -> None:
    """A simulated rollout's objects, microseconds and all."""
    world = World(seed=1, bad=frozenset({"3.0.0"}))
    for version in ("1.0.0", "2.0.0", "3.0.0"):
        world.apply(workflow_spec(version, **SHORT))
        for _ in range(40):
            world.tick(30)
    objects = [item for kind in KINDS.values() for item in world.list(kind.model)]
    assert {item.kind for item in objects} >= {"AgentWorkflow", "WorkflowRevision", "WorkflowRollout"}
    for resource in objects:
        item = resource.to_json()
        item["metadata"] = {"name": item["metadata"]["name"]}
        assert comparable(parse_data(server.stored(item)), item) == comparable(resource, item)


def test_explain_has_a_text_on_every_field(server: Server) -> None:
    """kubectl explain reads the published OpenAPI."""
    published = server.served("/openapi/v3/apis/sluicegate.io/v1alpha1")["components"]["schemas"]
    for kind in KINDS:
        (schema,) = (part for name, part in published.items() if name.endswith(f".{kind}"))
        silent = [path for path in _undescribed(schema, kind) if ".metadata" not in path]
        assert silent == []


def _undescribed(schema: dict[str, Any], path: str) -> list[str]:
    found = []
    for name, part in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        found += [] if part.get("description") else [here]
        found += _undescribed(part, here)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found += _undescribed(schema[key], f"{path}[]")
    return found


def test_explain_says_what_the_docstring_says(installed: ControlPlane) -> None:
    said = installed.kubectl("explain", "awf.spec.components.sideEffects").stdout
    assert "What a call changes outside." in " ".join(said.split())
    assert "Sandboxed" in said


def test_the_category_lists_every_kind(server: Server, installed: ControlPlane) -> None:
    for kind in ("AgentWorkflow", "FallbackRuleSet", "GovernancePolicy"):
        server.stored({**kinds.full(kind), "metadata": {"name": "listed"}})
    said = installed.kubectl("get", "sluicegate", "-n", "default", "-o", "name").stdout
    for plural in ("agentworkflow", "fallbackruleset", "governancepolicy"):
        assert f"{plural}.sluicegate.io/listed" in said


def test_columns_show_where_a_workflow_stands(server: Server, installed: ControlPlane) -> None:
    name = server.stored({**kinds.full("AgentWorkflow"), "metadata": {"name": "seen"}})["metadata"]["name"]
    head, row = installed.kubectl("get", "awf", name, "-o", "wide").stdout.splitlines()
    assert head.split() == [
        "NAME", "PHASE", "STAGE", "CANDIDATE", "TRAFFIC", "GATE", "READY", "AGE", "STABLE", "REASON", "SAMPLES", "DECISION-IN", "NEXT", "ATTEMPT",
    ]  # fmt: skip
    for word in (
        "Progressing",
        "Canary",
        "2.0.0",
        "1 % mirrored",
        "Wait 0/1",
        "1.0.0",
        "Waiting",
        "41/100",
        "1 min",
    ):
        assert word in row


def test_field_selectors_select(server: Server, installed: ControlPlane) -> None:
    made = server.stored({**kinds.of("Decision"), "metadata": {"name": "picked"}})["metadata"]["name"]
    said = installed.kubectl(
        "get", "dec", "--field-selector=spec.decidedBy=ada,spec.action=Promote", "-o", "json"
    )
    assert made in [item["metadata"]["name"] for item in json.loads(said.stdout)["items"]]
    assert not json.loads(
        installed.kubectl("get", "dec", "--field-selector=spec.decidedBy=nobody", "-o", "json").stdout
    )["items"]
