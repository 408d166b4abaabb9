"""Status as the ecosystem reads it: kstatus itself (sigs.k8s.io/cli-utils; Flux and Helm wait with it), and the health
script for Argo CD in a Lua 5.1. The expected words are written by hand from what a user has to see.
"""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa import lua51  # type: ignore[import-untyped]

from tests.cluster.situations import WORLDS, Situation, situation
from tests.controlplane import binaries

pytestmark = pytest.mark.cluster
SCRIPT = Path(__file__).parents[2] / "examples" / "kubernetes" / "argocd-health.yaml"

Json = dict[str, Any]

CURRENT, MOVING, FAILED, GOING = "Current", "InProgress", "Failed", "Terminating"
HEALTHY, PROGRESSING, SUSPENDED, DEGRADED = "Healthy", "Progressing", "Suspended", "Degraded"

# situation: (kstatus of workflow, of rollout), (Argo CD's health of workflow, of rollout)
EXPECTED: dict[str, tuple[tuple[str, str | None], tuple[str, str | None]]] = {
    "just created": ((MOVING, None), (PROGRESSING, None)),
    "looked at once": ((MOVING, None), (PROGRESSING, None)),
    "settled": ((CURRENT, None), (HEALTHY, None)),
    "settled, no gateway alive": ((MOVING, None), (PROGRESSING, None)),
    "spec just updated": ((MOVING, None), (PROGRESSING, None)),
    "in Canary": ((MOVING, MOVING), (PROGRESSING, PROGRESSING)),
    "in Shadow": ((MOVING, MOVING), (PROGRESSING, PROGRESSING)),
    "in Controlled": ((MOVING, MOVING), (PROGRESSING, PROGRESSING)),
    "in Full": ((MOVING, MOVING), (PROGRESSING, PROGRESSING)),
    "paused": ((MOVING, MOVING), (SUSPENDED, SUSPENDED)),
    "awaiting approval": ((MOVING, MOVING), (SUSPENDED, SUSPENDED)),
    "the approval came too late": ((FAILED, FAILED), (DEGRADED, DEGRADED)),
    "inconclusive at the deadline": ((FAILED, FAILED), (DEGRADED, DEGRADED)),
    "draining after an abort": ((MOVING, MOVING), (PROGRESSING, PROGRESSING)),
    "aborted": ((FAILED, FAILED), (DEGRADED, DEGRADED)),
    "promoted": ((CURRENT, CURRENT), (HEALTHY, HEALTHY)),
    "taken back": ((FAILED, CURRENT), (DEGRADED, HEALTHY)),
    "superseded by the earlier wish": ((CURRENT, CURRENT), (HEALTHY, HEALTHY)),
    "a newer wish during a rollout": ((MOVING, MOVING), (PROGRESSING, PROGRESSING)),
    "a wish that breaks its contract": ((FAILED, None), (DEGRADED, None)),
    "deleting": ((GOING, MOVING), (PROGRESSING, PROGRESSING)),
}


@cache
def made(name: str) -> Situation:
    return situation(name)


@cache
def oracle() -> Path:
    found = binaries.find()
    assert isinstance(found, binaries.Binaries), "kstatus is built with the control plane"
    return found.path("kstatus")


def kstatus(item: Json) -> str:
    done = subprocess.run(
        [oracle()], input=json.dumps(item), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0]


def health(item: Json) -> str:
    """As Argo CD runs it: Lua 5.1 with nothing but the base library."""
    scripts = yaml.safe_load(SCRIPT.read_text())["data"]
    text = scripts[f"resource.customizations.health.sluicegate.io_{item['kind']}"]
    lua = lua51.LuaRuntime(unpack_returned_tuples=True)
    for library in ("os", "io", "string", "math", "package", "debug", "python"):
        lua.globals()[library] = None
    lua.globals()["obj"] = lua.table_from(item, recursive=True)
    return str(lua.execute(text)["status"])


def test_every_situation_has_its_expectation() -> None:
    assert set(EXPECTED) == set(WORLDS)


@pytest.mark.parametrize("name", EXPECTED)
def test_kstatus_reads_it_as_meant(name: str) -> None:
    found, (workflow, rollout) = made(name), EXPECTED[name][0]
    assert kstatus(found.workflow) == workflow
    assert (None if found.rollout is None else kstatus(found.rollout)) == rollout


@pytest.mark.parametrize("name", EXPECTED)
def test_argo_cd_reads_it_as_meant(name: str) -> None:
    found, (workflow, rollout) = made(name), EXPECTED[name][1]
    assert health(found.workflow) == workflow
    assert (None if found.rollout is None else health(found.rollout)) == rollout


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_abnormal_is_true_or_absent_and_all_is_of_this_generation(name: str) -> None:
    for item in (made(name).workflow, made(name).rollout):
        status = (item or {}).get("status") or {}
        found = {condition["type"]: condition for condition in status.get("conditions", ())}
        assert {found[kind]["status"] for kind in ("Reconciling", "Stalled") if kind in found} <= {"True"}
        if found:
            assert "Ready" in found
            assert isinstance(status["observedGeneration"], int)
            assert {one["observedGeneration"] for one in found.values()} == {status["observedGeneration"]}


def test_the_first_status_is_not_ready_yet() -> None:
    found = made("looked at once").workflow["status"]
    ready = next(one for one in found["conditions"] if one["type"] == "Ready")
    assert (found["observedGeneration"], ready["status"]) == (1, "Unknown")


@pytest.mark.parametrize("name", ["awaiting approval", "paused"])
def test_waiting_for_people_says_for_whom(name: str) -> None:
    reason = {"awaiting approval": "AwaitingApproval", "paused": "PausedByPerson"}[name]
    for item in (made(name).workflow, made(name).rollout):
        assert item is not None
        found = {one["type"]: one for one in item["status"]["conditions"]}
        assert found["Reconciling"]["reason"] == reason
        assert found["Ready"]["status"] == "Unknown"
