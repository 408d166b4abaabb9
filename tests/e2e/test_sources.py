"""Gates with a source, in a running `up`: a real Prometheus sees a bad candidate, or there is none to ask."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.processes import free_port
from tests.e2e import life
from tests.e2e.life import rollout_of
from tests.operator.samples import staged
from tests.operator.up import Up, until
from tests.prometheus.exporter import Exporter, exporter
from tests.prometheus.server import Prometheus

pytestmark = pytest.mark.e2e

STABLE, CANDIDATE = "1.0.0", "2.0.0"
TOKEN = "SLUICEGATE_SOURCE_TEST"


@pytest.fixture
def up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Up]:
    """Instead of the shared one: with a token in its environment."""
    monkeypatch.setenv(TOKEN, "s3cret-token")
    with life.running(Up(tmp_path / "s")) as up:
        yield up


def candidate(url: str, source: dict[str, Any], **stage: Any) -> dict[str, Any]:
    """Canary is left by nobody but the gate with the source."""
    made = staged(CANDIDATE, url, name="shop", needs={"Canary": life.NEVER})
    canary = next(one for one in made["spec"]["rollout"]["stages"] if one["name"] == "Canary")
    success = {"name": "success", "signal": "WorkflowSuccessRate"}
    canary.update({"gates": [success, {"name": "outside", "source": source}]} | stage)
    return made


def status_of(up: Up) -> dict[str, Any]:
    found = rollout_of(up, CANDIDATE, "shop")
    return found["status"] if found else {"state": None}


def outside(up: Up) -> dict[str, Any]:
    return next((one for one in status_of(up).get("gates", ()) if one["name"] == "outside"), {})


def counted(target: Exporter, step: int) -> None:
    """Half of what the candidate does goes wrong, nothing of stable's."""
    target.text = (
        f'requests_total{{version="1.0.0"}} {100 * step}\n'
        f'requests_total{{version="2.0.0"}} {100 * step}\n'
        f'errors_total{{version="2.0.0"}} {50 * step}\n'
    )


def test_a_candidate_that_prometheus_sees_fail_is_aborted(up: Up, url: str, prometheus: Prometheus) -> None:
    source = {
        "intervalSeconds": 1,
        "prometheus": {
            "url": prometheus.url,
            "bad": 'sum(errors_total{version="{{version}}"}) or vector(0)',
            "total": 'sum(requests_total{version="{{version}}"})',
        },
    }
    up.apply(staged(STABLE, url, name="shop"))
    life.serving(up, "shop")
    with exporter() as target, prometheus.scraping("shop", target.port) as job:
        counted(target, 1)
        job.fresh()
        up.apply(candidate(url, source))
        until("a first measurement", lambda: outside(up).get("reason") == "InsufficientSamples")
        step = 1
        deadline = time.monotonic() + 60.0
        while status_of(up)["state"] not in {"Draining", "Done"} and time.monotonic() < deadline:
            step += 1
            counted(target, step)
            job.fresh()
    done = life.in_state(up, "Done", CANDIDATE, "shop")
    assert done["status"]["outcome"] == "Aborted"
    assert "50.0 % bad of" in done["status"]["message"]
    assert ", stable 0.0 % of" in done["status"]["message"]


def test_without_its_provider_a_stage_waits_and_is_held_at_the_deadline(up: Up, url: str) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    source = {
        "intervalSeconds": 1,
        "errorLimit": 2,
        "limit": {"max": "1"},
        "web": {"url": f"{dead}/{{{{version}}}}", "value": "errors"},
        "credentialRef": {"env": TOKEN},
    }
    up.apply(staged(STABLE, url, name="shop"))
    life.serving(up, "shop")
    up.apply(candidate(url, source, maxDurationSeconds=6))
    until("an error", lambda: outside(up).get("verdict") == "Error")
    assert status_of(up)["state"] == "Canary"
    until("held", lambda: status_of(up).get("held"))
    assert outside(up)["verdict"] == "Inconclusive"
    assert "not reached" in outside(up)["message"]
    assert status_of(up)["state"] == "Canary"
    for path in up.root.rglob("*"):
        assert not path.is_file() or b"s3cret-token" not in path.read_bytes(), path
