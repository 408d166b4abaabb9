"""From mirrored runs to contributions, through gateway, store, fold and API: true values known by construction."""

from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.evidence import AblatedUnits, Estimate, EvidenceKey
from sluicegate.contracts.routes import Share, TrafficMode
from sluicegate.contracts.stages import Stage
from sluicegate.lineage.store import LineageStore
from sluicegate.observability.contributions.ablated import cells_of
from sluicegate.observability.contributions.estimate import estimate
from sluicegate.operator.api.lineage_view import StoredLineage
from sluicegate.operator.loop.evidence import FoldedEvidence
from sluicegate.rollout.model import Look
from tests.gateway.components import component, harness, rolling, serving, spec_of

KEY = EvidenceKey("uid-1", Stage.SHADOW, 1)
ODDS = {"plan": 0.9, "find": 0.8, "write": 1.0}
SPARE = {"plan": 0.3, "find": 0.4, "write": 1.0}
"""Chance that a component does its part, and that its stand-in does: a pipeline, in which `write` changes nothing."""


def true_values() -> dict[str, float]:
    """By the two orders of two players: v = plan · find."""
    plan, find = (ODDS["plan"], SPARE["plan"]), (ODDS["find"], SPARE["find"])
    return {
        "plan": (plan[0] - plan[1]) * (find[0] + find[1]) / 2,
        "find": (find[0] - find[1]) * (plan[0] + plan[1]) / 2,
        "write": 0.0,
    }


async def test_intervals_cover_what_the_workflow_was_built_to_have(tmp_path: Path) -> None:
    """Each component decides anew for each question, by a hash; the reward is 1 when all did their part."""

    def answer(body: dict[str, int]) -> dict[str, bool]:
        name = server.calls[-1].path.rpartition("/")[2]
        odds = SPARE[name.removesuffix("-spare")] if name.endswith("-spare") else ODDS[name]
        place = int.from_bytes(sha256(f"{name}/{body['n']}".encode()).digest()[:8], "big")
        return {"done": place < odds * 2**64}

    def workflow(version: str) -> dict[str, Any]:
        parts = [
            component(
                f"{server.url}/{name}",
                name=name,
                onFailure={"type": "Component", "component": f"{name}-spare"},
            )
            for name in ODDS
        ]
        spares = [component(f"{server.url}/{name}-spare", name=f"{name}-spare") for name in ODDS]
        done = " && ".join(f"steps.{name}.done" for name in ODDS)
        steps = [{"name": name, "component": name} for name in ODDS]
        return spec_of(*parts, *spares, version=version, steps=steps, reward=f"({done}) ? 1.0 : 0.0")

    async with serving(answer) as server:
        plan = rolling(
            workflow("1"), workflow("2"), TrafficMode.MIRROR, ablation=Share(1, 1), ablates_stable=True
        )
        async with harness(plan) as gate:
            for number in range(400):
                await gate.run_whole({"n": number})
            lines = [orjson.dumps(line) for line in gate.spool.lines if line["t"] == "obs"]
    store = LineageStore(tmp_path / "lineage.db")
    store.ingest(lines, now=system.now() + timedelta(hours=1))
    view = StoredLineage(store, system.SystemClock())
    assert await view.ablated({"rollout": "uid-1"}) == []
    evidence = await FoldedEvidence(store).evidence(Look(key=KEY, questions=()))
    item, stable = await view.ablated({"rollout": "uid-1"})
    store.close()
    item["estimates"] = tuple(Estimate(*one) for one in item["estimates"])
    assert AblatedUnits(**item) == evidence.ablated
    assert (stable["arm"], stable["units"], stable["cells"]) == ("stable-ablated", 400, item["cells"])
    assert (evidence.units, item["missing"]) == (400, 0)
    found = estimate(cells_of(AblatedUnits(**item)))
    truth = true_values()
    assert {one.component for one in found.each} == set(truth)
    assert all(one.low <= truth[one.component] <= one.high for one in found.each), found
    assert all(one.high - one.low < 0.6 for one in found.each), found


@pytest.mark.parametrize(
    "filters", [{}, {"rollout": "u", "stage": "Shade"}, {"rollout": "u", "attempt": "x"}]
)
async def test_what_is_no_question(tmp_path: Path, filters: dict[str, str]) -> None:
    store = LineageStore(tmp_path / "lineage.db")
    with pytest.raises(Refused):
        await StoredLineage(store, system.SystemClock()).ablated(filters)
    store.close()
