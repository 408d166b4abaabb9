"""The demo's files and its checks, without processes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.console.demo import checks as demo_checks
from sluicegate.console.demo import files as demo_files
from sluicegate.console.demo.command import BAD, DemoOptions, run
from sluicegate.console.traffic import Answer
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.stages import Outcome

START = datetime(2026, 1, 1, tzinfo=UTC)
BASE = "http://127.0.0.1:5"


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()


def answer(version: str, asked: float, took: float = 0.1, status: int = 200) -> Answer:
    moment = START + timedelta(seconds=asked)
    return Answer(
        asked_at=moment, answered_at=moment + timedelta(seconds=took), status=status, version=version
    )


def rollout(*stages: tuple[str, float, float], gates: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    history = [
        {
            "stage": name,
            "attempt": 1,
            "startedAt": at(start),
            "endedAt": at(end),
            "leftBy": "Pass",
            "gates": gates or [],
        }
        for name, start, end in stages
    ]
    return {"status": {"history": history}}


MIRRORED = rollout(("Canary", 0, 10), ("Shadow", 10, 20))
OPENED = rollout(("Canary", 0, 10), ("Shadow", 10, 20), ("Controlled", 20, 30))

EARLY: dict[str, tuple[dict[str, Any], list[Answer], int]] = {
    "nobody met the candidate": (MIRRORED, [answer("1", 5), answer("1", 15)], 0),
    "a user met it in Canary": (MIRRORED, [answer("2", 5)], 1),
    "a user met it in Shadow": (OPENED, [answer("2", 15), answer("2", 25)], 1),
    "users met it in Controlled": (OPENED, [answer("2", 25)], 0),
    "a user asked in Shadow and was answered in Controlled": (OPENED, [answer("2", 19.99, took=0.1)], 0),
    "a user met it after an abort in Shadow": (MIRRORED, [answer("2", 30)], 1),
    "there was no rollout at all": ({}, [answer("2", 1)], 1),
}


@pytest.mark.parametrize("case", EARLY)
def test_an_answer_from_a_candidate_that_may_not_answer_is_found(case: str) -> None:
    passages, answers, expected = EARLY[case]
    assert len(demo_checks.too_early(answers, "2", demo_checks.opened_at(passages))) == expected


KEPT: dict[str, tuple[str | None, str, list[Answer], bool]] = {
    "promoted as it should": ("Promoted", "Promoted", [answer("1", 5), answer("2", 25)], True),
    "promoted, but a user met it in Shadow": ("Promoted", "Promoted", [answer("2", 15)], False),
    "aborted instead of promoted": ("Aborted", "Promoted", [], False),
    "promoted instead of aborted": ("Promoted", "Aborted", [], False),
    "not ended": (None, "Promoted", [], False),
}


@pytest.mark.parametrize("case", KEPT)
def test_the_verdict_tells_the_truth(case: str) -> None:
    outcome, wanted, answers, expected = KEPT[case]
    found = {"spec": {"candidate": {"version": "2"}}, "status": OPENED["status"] | {"outcome": outcome}}
    assert demo_checks.is_kept(found, Outcome(wanted), answers) is expected


def test_no_rollout_at_all_keeps_nothing() -> None:
    assert not demo_checks.is_kept({}, Outcome.PROMOTED, [])


def test_good_answers_are_counted_by_stage_and_version() -> None:
    answers = [answer("1", 21), answer("2", 22), answer("2", 23), answer("2", 24, status=500), answer("1", 5)]
    controlled = demo_checks.passages(OPENED)[2]
    assert demo_checks.shares(answers, controlled) == {"1": 1, "2": 2}


def test_failed_gates_are_those_of_the_last_stage() -> None:
    gates = [{"name": "a", "verdict": "Fail"}, {"name": "b", "verdict": "Pass"}]
    found = demo_checks.failed_gates(rollout(("Canary", 0, 1), gates=gates))
    assert [gate["name"] for gate in found] == ["a"]
    assert demo_checks.failed_gates({}) == []


def urls(document: dict[str, Any]) -> dict[str, str]:
    return {component["name"]: component["endpoint"]["url"] for component in document["spec"]["components"]}


def test_files_are_moved_to_the_port_of_the_demo() -> None:
    moved = demo_files.moved(demo_files.stable(demo_files.BASE), BASE, name="other")
    assert all(url.startswith(f"{BASE}/") for url in urls(moved).values())
    assert moved["metadata"]["name"] == "other"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_candidate_changes_one_component_of_what_is_stable_now(name: str) -> None:
    good, origin = demo_files.candidate("good", BASE), demo_files.stable(BASE)
    bad = demo_files.on_top_of(good, demo_files.candidate(name, BASE), origin)
    changed = {component for component, url in urls(bad).items() if url != urls(good)[component]}
    assert len(changed) == 1
    assert bad["spec"]["version"] != good["spec"]["version"]


def test_a_written_file_reads_back_the_same(tmp_path: Path) -> None:
    document = demo_files.stable(BASE)
    demo_files.write(document, tmp_path / "v1.yaml")
    text = (tmp_path / "v1.yaml").read_text()
    assert yaml.safe_load(text) == document
    assert "&id" not in text


def test_an_unknown_candidate_is_refused_before_anything_starts() -> None:
    with pytest.raises(Refused, match="more-fallbacks"):
        run(DemoOptions(bad="rude"))


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "resources.db").touch()
    with pytest.raises(Refused, match="not empty"):
        run(DemoOptions(state_dir=tmp_path))
