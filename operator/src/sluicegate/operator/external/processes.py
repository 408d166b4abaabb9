"""Jobs of local mode: processes of this machine, where whoever started `sluicegate up` allowed them.

A restart of `up` runs a look again that it did not end; on Kubernetes the Job is found.
"""

import asyncio
import contextlib
import os
import signal
import stat
import tempfile
from pathlib import Path

from sluicegate.contracts.verification.sources import RESULT_VARIABLE
from sluicegate.operator.external.job_result import LONGEST, Ended, readings
from sluicegate.operator.ports import Question
from sluicegate.rollout.job_runs import JobRun
from sluicegate.rollout.measurements import Outcome, Reading


class RefusedJobs:
    """`ports.ExternalEvidence` where nobody allowed them; admission has told it, unless the flag went since."""

    async def read(self, question: Question) -> tuple[Reading, ...]:
        """Never runs anything."""
        said = "Jobs are not allowed here: start `sluicegate up` with --allow-jobs"
        return (Reading(Outcome.ERROR, message=said),) * len(question.inquiry.texts)


class ProcessEvidence:
    """`ports.ExternalEvidence`. A process has PATH and its own variables, an empty folder, and no input."""

    async def read(self, question: Question) -> tuple[Reading, ...]:
        """Run it to its end; whatever happens, none of its process group is left."""
        run, texts = question.inquiry.job, tuple(text for _, text in question.inquiry.texts)
        if run is None:
            raise AssertionError("no Job is asked")
        name = " ".join(run.template.command[:1]) or "the process"
        with tempfile.TemporaryDirectory(prefix="sluicegate-look-", ignore_cleanup_errors=True) as folder:
            try:
                async with asyncio.timeout(run.template.timeout_seconds):
                    code = await _ran(run, Path(folder))
                result = await asyncio.to_thread(_written, Path(folder) / "result")
            except TimeoutError:
                said = f"{name} did not end within {run.template.timeout_seconds} s"
                return (Reading(Outcome.TIMEOUT, message=said),) * len(texts)
            except (OSError, ValueError) as error:
                said = f"{name} was not started, or its result cannot be read: {type(error).__name__}"
                return (Reading(Outcome.ERROR, message=said),) * len(texts)
        return readings(Ended(name=name, code=code, result=result), texts)


def _written(path: Path) -> str:
    """The end of a regular file; a command may have put anything there. OSError when there is none."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("its result is no file")
        file.seek(max(0, found.st_size - LONGEST))
        return file.read(LONGEST).decode(errors="replace")


async def _ran(run: JobRun, folder: Path) -> int:
    (folder / "result").touch()
    environment = {one.name: one.value or "" for one in run.template.env}
    environment |= {"PATH": os.environ.get("PATH", ""), RESULT_VARIABLE: str(folder / "result")}
    process = await asyncio.create_subprocess_exec(
        *run.template.command,
        *run.template.args,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    try:
        return await process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
