"""The lineage process on a real API server: who may do what, evidence over the wire, runs for people."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.drills import DrillLook
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.evidence import Question
from sluicegate.contracts.runs import Arm
from sluicegate.contracts.schedules import Window
from sluicegate.contracts.stages import Signal
from sluicegate.contracts.watch import Watched, WatchLook
from sluicegate.lineage import entries
from sluicegate.lineage.store import LineageStore
from sluicegate.operator.cluster.evidence import RemoteEvidence
from sluicegate.operator.cluster.kube_access import FixedToken
from sluicegate.operator.cluster.remote import LineageClient
from sluicegate.operator.loop.evidence import FoldedEvidence
from sluicegate.rollout.model import Look
from tests.controlplane.plane import ControlPlane
from tests.lineage.builders import SHADOW, at, facts, observed, run
from tests.operator.edge import processes
from tests.operator.edge.processes import Running
from tests.operator.up import until

pytestmark = pytest.mark.cluster

SEGMENT = f"/v1/spools/g1/w0/{'b' * 32}-000000"
LOOK = Look(key=SHADOW, questions=(Question(signal=Signal.SUCCESS_RATE, margin=0.02),))
WATCH = WatchLook(
    watched=Watched("shop", "support-bot", "support-bot-1"),
    components=("planner",),
    false_alarm_every=1000,
    tolerance=0.02,
    baseline_units=100,
)
ID = "0190b0a0-0000-7000-8000-{:012d}"


def lines() -> bytes:
    """Thirty paired runs, in namespace shop, as a worker spools them."""
    parts = []
    for number in range(30):
        name = ID.format(number)
        parts += [
            entries.encode_run(run(name, unit=name, window_seconds=0.0, reward=0.5)),
            entries.encode_run(run(name, Arm.CANDIDATE)),
            entries.encode_observation(
                observed(name, stable=facts(), candidate=facts(success=float(number % 3 > 0)))
            ),
        ]
    return b"".join(parts)


@pytest.fixture(scope="module")
def tokens(plane: ControlPlane) -> dict[str, str]:
    processes.accounts(plane, "shop")
    plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody", "namespace": "shop"}}
    )
    return {
        "gateway": plane.token(processes.SYSTEM, processes.GATEWAY),
        "operator": plane.token(processes.SYSTEM, processes.OPERATOR),
        "nobody": plane.token("shop", "nobody"),
        "shop": processes.reader(plane, "shop", "shop-reader"),
        "default": processes.reader(plane, "default", "default-reader"),
        "everybody": processes.reader(plane, "shop", "all-reader", everywhere=True),
    }


@pytest.fixture(scope="module")
def server(
    plane: ControlPlane, tokens: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    with processes.lineage(plane, tmp_path_factory.mktemp("lineage")) as running:
        code, found = running.ask("PUT", f"{SEGMENT}?offset=0&final=1", lines(), tokens["gateway"])
        assert (code, found) == (200, [{"size": len(lines()), "finished": True}])
        until(
            "the runs are stored",
            lambda: running.ask("GET", "/v1/counts", token=tokens["everybody"])[1].get("runs") == 60,
        )
        yield running


@pytest.fixture
async def evidence(server: Running, tokens: dict[str, str]) -> AsyncIterator[RemoteEvidence]:
    client = LineageClient(f"http://127.0.0.1:{server.port}", FixedToken(tokens["operator"]))
    yield RemoteEvidence(client)
    await client.close()


REQUESTS: dict[str, tuple[str, str, bytes]] = {
    "write": ("PUT", f"/v1/spools/g1/w0/{'c' * 32}-000000?offset=0", b"{}\n"),
    "size": ("GET", SEGMENT, b""),
    "evidence": ("POST", "/v1/evidence", b"[]"),
    "sample": ("POST", "/v1/fallbacks", b"[]"),
    "runs": ("GET", "/v1/runs", b""),
    "runs of default": ("GET", "/v1/runs?namespace=default", b""),
    "runs of shop": ("GET", "/v1/runs?namespace=shop", b""),
    "run": ("GET", f"/v1/runs/{ID.format(3)}", b""),
    "prefix": ("GET", "/v1/runs/0190b0a0-0000-7000-8000-00000000000", b""),
    "fallbacks": ("GET", "/v1/fallbacks?namespace=shop", b""),
    "ablated": ("GET", "/v1/ablated?namespace=shop&rollout=rollout-1", b""),
    "units": ("GET", "/v1/units?namespace=shop&rollout=rollout-1&stage=Shadow&after=0", b""),
    "counts": ("GET", "/v1/counts", b""),
}
ALLOWED: dict[str, set[str]] = {
    "gateway": {"write", "size"},
    "operator": {"evidence", "sample"},
    "nobody": set(),
    "shop": {"runs of shop", "run", "fallbacks", "ablated", "units"},
    "default": {"runs of default"},
    "everybody": set(REQUESTS) - {"write", "size", "evidence", "sample"},
}


@pytest.mark.parametrize("what", REQUESTS)
@pytest.mark.parametrize("who", ALLOWED)
def test_who_may_do_what(server: Running, tokens: dict[str, str], who: str, what: str) -> None:
    code, found = server.ask(*REQUESTS[what], token=tokens[who])
    if what in ALLOWED[who]:
        # An empty question, and a beginning that fits many, are refused as such.
        assert code == (422 if what in {"evidence", "sample", "prefix"} else 200), found
        return
    assert code in {403, 422}, found
    assert (code == 422) == (what == "prefix"), "a beginning is no id for who may not search everywhere"
    assert "may" in found["message"]


@pytest.mark.parametrize("what", REQUESTS)
def test_nobody_is_told_anything_without_a_token(server: Running, what: str) -> None:
    for token in (None, "x.y.z"):
        code, found = server.ask(*REQUESTS[what], token=token)
        assert code == 401
        assert found["reason"] == "Unauthorized"
        assert "token" in found["message"]


def test_people_read_runs(server: Running, tokens: dict[str, str]) -> None:
    code, found = server.ask("GET", "/v1/runs?namespace=shop&arm=candidate&limit=5", token=tokens["shop"])
    assert code == 200
    assert len({one["run_id"] for one in found["items"]} & {ID.format(number) for number in range(30)}) == 5
    code, found = server.ask("GET", f"/v1/runs/{ID.format(3)}", token=tokens["shop"])
    assert [one["arm"] for one in found["items"]] == ["stable", "candidate"]
    code, found = server.ask("GET", f"/v1/runs/{ID.format(99)}", token=tokens["shop"])
    assert code == 404
    code, found = server.ask("GET", "/v1/runs?colour=red", token=tokens["everybody"])
    assert (code, found["details"]["causes"][0]["field"]) == (422, "colour")


async def test_evidence_is_what_local_mode_folds(evidence: RemoteEvidence, tmp_path: Path) -> None:
    """The expected value comes from a store of its own, fed with the same lines."""
    store = LineageStore(tmp_path / "lineage.db")
    store.ingest(lines().splitlines(), now=at(10**6))
    expected = await FoldedEvidence(store).evidence(LOOK)
    store.close()
    found = await evidence.evidence(LOOK)
    assert (found, found.units) == (expected, 30)
    assert await evidence.sampled_fallbacks(LOOK) == frozenset()


async def test_a_watch_is_what_local_mode_folds(evidence: RemoteEvidence, tmp_path: Path) -> None:
    store = LineageStore(tmp_path / "lineage.db")
    store.ingest(lines().splitlines(), now=at(10**6))
    expected = await FoldedEvidence(store).watch(WATCH)
    store.close()
    found = await evidence.watch(WATCH)
    assert (found, found.units, found.signals[0].units) == (expected, 30, 30)


async def test_a_drill_is_what_the_store_says(evidence: RemoteEvidence) -> None:
    window = Window(at(-3600), at(3600))
    found = await evidence.drill(DrillLook(namespace="shop", workflow="support-bot", window=window))
    assert (found.look.window, found.runs, found.answered, found.failed_run) == (window, 0, 0, None)


async def test_evidence_that_is_away_is_no_verdict(server: Running, tokens: dict[str, str]) -> None:
    nobody = LineageClient("http://127.0.0.1:9", FixedToken(tokens["operator"]), seconds=1.0)
    with pytest.raises(Unavailable, match="does not answer"):
        await RemoteEvidence(nobody).evidence(LOOK)
    await nobody.close()
    wrong = LineageClient(f"http://127.0.0.1:{server.port}", FixedToken(tokens["nobody"]))
    with pytest.raises(Unavailable, match="may not ask for evidence"):
        await RemoteEvidence(wrong).evidence(LOOK)
    await wrong.close()


def test_tokens_are_reviewed_once_a_minute(plane: ControlPlane, server: Running) -> None:
    start = plane.audit_position()
    token = plane.token(processes.SYSTEM, processes.GATEWAY)
    for _ in range(20):
        assert server.ask(*REQUESTS["size"], token=token)[0] == 200

    def reviews() -> list[Any]:
        return [one for one in plane.audit(start) if one.resource == "tokenreviews"]

    until("the review is noted", reviews)
    assert len(reviews()) == 1
