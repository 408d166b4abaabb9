"""Jobs of local mode: real processes of this machine, and nothing of them afterwards."""

import asyncio
from pathlib import Path

import pytest

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.resources.source import JobSource
from sluicegate.contracts.stages import Stage
from sluicegate.operator.external.processes import ProcessEvidence, RefusedJobs
from sluicegate.operator.ports import ExternalEvidence, Question
from sluicegate.rollout.job_runs import JobRun
from sluicegate.rollout.measurements import Inquiry, Outcome, Reading
from tests.operator.up import until

KEY = EvidenceKey("ro-1", Stage.CANARY, 1)


async def read(
    script: str, result: str | None = None, *, seconds: int = 30, by: ExternalEvidence | None = None
) -> tuple[Reading, ...]:
    template = JobSource.model_validate(
        {"image": "none", "command": ["/bin/sh", "-c", script], "timeoutSeconds": seconds}
        | {"env": [{"name": "TARGET", "value": "2.0.0"}]}
        | ({"result": result} if result else {})
    )
    run = JobRun(key=KEY, namespace="default", rollout="bot-1", gate="g", arm="candidate", template=template)
    texts = (("bad", "bad"), ("total", "total")) if result == "Counts" else (("value", ""),)
    inquiry = Inquiry(arm="candidate", url="", texts=texts, job=run)
    return await (by or ProcessEvidence()).read(
        Question(inquiry=inquiry, at=None, max_age_seconds=60, timeout_seconds=60.0)  # type: ignore[arg-type]  # not read
    )


def is_alive(pid: int) -> bool:
    """A zombie, which nobody has waited for yet, is not."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().split()[2] != "Z"


async def test_how_it_ended() -> None:
    (completed,), (failed,) = await read("exit 0"), await read("exit 3")
    assert (completed.outcome, completed.value) == (Outcome.VALUE, 1.0)
    assert (failed.outcome, failed.value, failed.message) == (
        Outcome.VALUE,
        0.0,
        "/bin/sh failed with exit code 3",
    )


async def test_what_it_counted() -> None:
    found = await read("""echo '{"bad": 3, "total": 500}' > "$SLUICEGATE_RESULT" """, "Counts")
    assert [one.value for one in found] == [3.0, 500.0]
    found = await read("exit 0", "Counts")
    assert [one.outcome for one in found] == [Outcome.NO_DATA] * 2


async def test_it_has_its_own_variables_and_none_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SLUICEGATE_SOURCE_SHOP", "s3cret")
    seen = tmp_path / "seen"
    await read(f"env > {seen}; pwd >> {seen}")
    text = seen.read_text()
    assert "TARGET=2.0.0" in text
    assert "s3cret" not in text
    assert str(Path.cwd()) not in [line for line in text.splitlines() if "=" not in line]


async def test_what_does_not_end_in_time_is_ended_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    (found,) = await read(f"sleep 600 & echo $! > {pid}; wait", seconds=1)
    assert found.outcome is Outcome.TIMEOUT
    child = int(pid.read_text())
    await asyncio.to_thread(until, "the child is gone", lambda: not is_alive(child))


NO_FILE = {
    "it is gone": 'rm "$SLUICEGATE_RESULT"',
    "it is a pipe that nobody writes to": 'rm "$SLUICEGATE_RESULT"; mkfifo "$SLUICEGATE_RESULT"',
    "it is a link to something else": 'ln -sf /etc/passwd "$SLUICEGATE_RESULT"',
}


@pytest.mark.parametrize("script", NO_FILE.values(), ids=NO_FILE.keys())
async def test_a_result_that_is_no_file_says_nothing(script: str) -> None:
    found = await read(script, "Counts")
    assert {one.outcome for one in found} == {Outcome.ERROR}


async def test_a_program_that_is_not_there_is_no_verdict() -> None:
    template = JobSource(image="none", command=("/no/such/program",))
    run = JobRun(key=KEY, namespace="default", rollout="bot-1", gate="g", arm="candidate", template=template)
    inquiry = Inquiry(arm="candidate", url="", texts=(("value", ""),), job=run)
    (found,) = await ProcessEvidence().read(
        Question(inquiry=inquiry, at=None, max_age_seconds=60, timeout_seconds=60.0)  # type: ignore[arg-type]  # not read
    )
    assert found.outcome is Outcome.ERROR


async def test_where_nobody_allowed_them_nothing_runs(tmp_path: Path) -> None:
    (found,) = await read(f"touch {tmp_path}/ran", by=RefusedJobs())
    assert found.outcome is Outcome.ERROR
    assert "--allow-jobs" in found.message
    assert not (tmp_path / "ran").exists()
