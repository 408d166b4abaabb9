"""Reading result files, and what is said of wrong ones."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sluicegate.console.recordings import load
from sluicegate.contracts.errors import Refused

REFUND = {"name": "cancel_reservation", "arguments": '{"reservation_id": "A1"}'}
LOOK = {"name": "get_user_details", "arguments": '{"user_id": "u1"}'}
BROKEN = {"name": "book_reservation", "arguments": '{"user_id": "u1"'}


def said(text: str | None, *calls: dict[str, str]) -> dict[str, Any]:
    tools = [{"id": f"c{number}", "type": "function", "function": call} for number, call in enumerate(calls)]
    return {"role": "assistant", "content": text, "tool_calls": tools or None}


def tool(text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c0", "content": text}


def run(**changes: Any) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": "policy"},
        {"role": "user", "content": "Cancel my flight."},
        said(None, LOOK),
        tool('{"name": "Mia"}'),
        said("Shall I?"),
        {"role": "user", "content": "Yes."},
        said(None, REFUND, BROKEN),
        tool("done"),
        tool("Error: payment"),
        said("It is cancelled."),
        {"role": "user", "content": "###STOP###"},
    ]
    return {"task_id": 7, "trial": 0, "reward": 1.0, "info": {}, "traj": messages} | changes


def written(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(value))
    return path


def test_a_run_is_its_answer_its_calls_and_its_reward(tmp_path: Path) -> None:
    recording = load(written(tmp_path, [run(), run(trial=1, reward=0)]))
    one = recording.runs["7"][0]
    assert (one.request, one.answer, one.reward) == ("Cancel my flight.", "It is cancelled.", 1.0)
    assert [call.name for call in one.tool_calls] == [
        "get_user_details",
        "cancel_reservation",
        "book_reservation",
    ]
    assert recording.tasks == ("7",)
    assert recording.trials == (0, 1)


def test_reads_and_refused_calls_change_nothing(tmp_path: Path) -> None:
    one = load(written(tmp_path, [run()])).runs["7"][0]
    assert one.actions == [{"name": "cancel_reservation", "arguments": {"reservation_id": "A1"}}]
    assert one.tool_calls[2].failed
    assert one.tool_calls[2].arguments == {"_raw": '{"user_id": "u1"'}


def test_gzip_is_seen_by_its_content_not_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "runs.dat"
    path.write_bytes(gzip.compress(json.dumps([run()]).encode()))
    assert load(path).runs["7"][0].reward == 1.0


def test_trials_are_those_that_every_task_has(tmp_path: Path) -> None:
    assert load(written(tmp_path, [run(), run(trial=1), run(task_id=8)])).trials == (0,)


WRONG: dict[str, tuple[Any, str]] = {
    "no list": ({"runs": []}, "(document)"),
    "an empty list": ([], "(document)"),
    "an item that is no object": ([run(), 3], "[1]"),
    "a missing task": (
        [{key: value for key, value in run().items() if key != "task_id"}],
        "[0].task_id: is missing",
    ),
    "a trial that is a string": ([run(trial="0")], "[0].trial"),
    "a trial that is a boolean": ([run(trial=True)], "[0].trial"),
    "a negative trial": ([run(trial=-1)], "[0].trial"),
    "a reward above 1": ([run(reward=1.5)], "[0].reward"),
    "a reward that is NaN": ([run(reward=float("nan"))], "[0].reward"),
    "a trajectory of strings": ([run(traj=["hello"])], "[0].traj"),
    "the same run twice": ([run(), run()], "[1]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, case: str) -> None:
    value, place = WRONG[case]
    with pytest.raises(Refused) as caught:
        load(written(tmp_path, value))
    assert place in str(caught.value)


def test_all_problems_are_told_at_once_but_not_endlessly(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        load(written(tmp_path, [{"task_id": 1} for _ in range(50)]))
    assert len(caught.value.problems) == 20


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"\x1f\x8b broken", "cannot be read"),
        (gzip.compress(b"[]", mtime=0)[:-4], "cannot be read"),
    ],
)
def test_a_file_that_is_no_json_is_refused(tmp_path: Path, content: bytes, place: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(Refused, match=place):
        load(path)


def test_a_missing_file_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        load(tmp_path / "none.json")
    with pytest.raises(Refused, match="tau-bench"):
        load(tmp_path / "none.json", "tau")
