"""Jobs of gates: made once for each look, read when they have ended. `ports.ExternalEvidence` of a cluster.

A verdict needs a container that ended by itself: how it ended, or what it wrote. A Job that ran out of time, was evicted, killed
for memory, could not be scheduled or is gone says nothing about the candidate.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from sluicegate.contracts.errors import Conflict, NotFound, SluicegateError, Unavailable
from sluicegate.operator.cluster.job_manifest import CONTAINER, manifest
from sluicegate.operator.cluster.names import CHILDREN
from sluicegate.operator.cluster.ports import JOBS, PODS, KubeApi
from sluicegate.operator.external.job_result import Ended, readings
from sluicegate.operator.ports import Json, LoopClock, Question
from sluicegate.rollout.job_runs import KEPT, JobRun
from sluicegate.rollout.measurements import Inquiry, Outcome, Reading

OFTEN: Final = 1.0
SELDOM: Final = 5.0
SOON: Final = 10
"""Looked at every second for so many times, then every five."""
_LATE: Final = "DeadlineExceeded"


class JobEvidence:
    """One Job for each look and arm. Its pod is read for the exit code and the termination message only."""

    def __init__(self, api: KubeApi, clock: LoopClock) -> None:
        self._api, self._clock = api, clock

    async def read(self, question: Question) -> tuple[Reading, ...]:
        """Waits until the Job has ended; the pool bounds the time."""
        run, texts = question.inquiry.job, tuple(text for _, text in question.inquiry.texts)
        if run is None:
            raise AssertionError("no Job is asked")
        found = await self._ended(run, question)
        return readings(found, texts) if isinstance(found, Ended) else (found,) * len(texts)

    async def discard(self, inquiry: Inquiry, number: int) -> None:
        """The Job of a look that nobody waits for any more; one that stays ends by its deadline."""
        if inquiry.job is not None:
            await self._gone(inquiry.job, number)

    async def _ended(self, run: JobRun, question: Question) -> Ended | Reading:
        name = run.name(question.number)
        try:
            made = await self._made(run, question.number)
            await self._tidied(run, question.number - KEPT)
            done = await self._finished(run, made)
            if done is None:
                return Reading(Outcome.NO_DATA, message=f"Job {name} is gone")
            job, condition = done
            return _too_old(job, condition, question) or await self._said(run, job, condition)
        except SluicegateError as error:
            return Reading(Outcome.ERROR, message=f"Job {name}: {' '.join(str(error).split())[:300]}")

    async def _made(self, run: JobRun, number: int) -> Json:
        """The Job of this look, which may be there already. Conflict when its name is somebody else's."""
        wanted = manifest(run, number)
        try:
            return await self._api.create(JOBS, wanted, manager=CHILDREN)
        except Conflict:
            held = await self._api.get(JOBS, run.namespace, wanted["metadata"]["name"])
            if not _is_owned(held, run.key.rollout):
                raise
            return held

    async def _tidied(self, run: JobRun, number: int) -> None:
        """People read the logs of the newest looks; an older one goes."""
        if number >= 1:
            await self._gone(run, number)

    async def _gone(self, run: JobRun, number: int) -> None:
        try:
            await self._api.delete(JOBS, run.namespace, run.name(number))
        except SluicegateError:
            return

    async def _finished(self, run: JobRun, job: Json) -> tuple[Json, Json] | None:
        """The Job and the condition that says how it ended; None when it is gone. An API server that is away is waited for."""
        name, uid, looked = job["metadata"]["name"], job["metadata"]["uid"], 0
        while True:
            for condition in (job.get("status") or {}).get("conditions") or ():
                if condition["type"] in {"Complete", "Failed"} and condition["status"] == "True":
                    return job, condition
            looked += 1
            await self._clock.sleep(OFTEN if looked <= SOON else SELDOM)
            try:
                job = await self._api.get(JOBS, run.namespace, name)
            except NotFound:
                return None
            except Unavailable:
                continue
            if job["metadata"]["uid"] != uid or job["metadata"].get("deletionTimestamp"):
                return None

    async def _said(self, run: JobRun, job: Json, condition: Json) -> Ended | Reading:
        name = job["metadata"]["name"]
        if condition.get("reason") == _LATE:
            said = f"Job {name} did not end within {run.template.timeout_seconds} s"
            return Reading(Outcome.TIMEOUT, message=said)
        labels = {"batch.kubernetes.io/job-name": name}
        pods = (await self._api.list(PODS, run.namespace, labels=labels)).items
        own = [pod for pod in pods if _is_owned(pod, job["metadata"]["uid"])]
        fault = next(filter(None, map(_disturbed, own)), None)
        ends = [end for pod in own for end in _ends(pod)]
        if fault is not None or not ends:
            why = fault or f"no container of it ended ({condition.get('reason') or condition['type']})"
            return Reading(Outcome.ERROR, message=f"Job {name}: {why}")
        if condition["type"] == "Complete" and run.template.result is None:
            return Ended(name=f"Job {name}", code=None)
        code, written = int(ends[-1].get("exitCode", 0)), str(ends[-1].get("message") or "")
        if condition["type"] == "Failed" and code == 0:
            return Reading(Outcome.ERROR, message=f"Job {name} failed although its container did not")
        return Ended(name=f"Job {name}", code=code, result=written)


_BY_ITSELF: Final = frozenset({"", "Completed", "Error"})
"""Reasons of a container that ran and ended; others never began, or nobody knows how they ended."""


def _is_owned(item: Json, uid: str) -> bool:
    owners = item["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == uid for owner in owners)


def _ends(pod: Json) -> Iterator[Json]:
    """How its container ended."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (status.get("state") or {}).get("terminated")
        if status.get("name") == CONTAINER and ended:
            yield ended


def _disturbed(pod: Json) -> str | None:
    """What ended it from outside, else None."""
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return "its pod was deleted"
    if status.get("reason") in {"Evicted", "NodeLost", "Shutdown", "Terminated"}:
        return f"its pod was ended from outside ({status['reason']})"
    for condition in status.get("conditions") or ():
        if condition["type"] == "DisruptionTarget" and condition["status"] == "True":
            return f"its pod was ended from outside ({condition.get('reason') or 'DisruptionTarget'})"
    reasons = [ended.get("reason") or "" for ended in _ends(pod)]
    if "OOMKilled" in reasons:
        return "its container had too little memory: raise job.resources.memory"
    foreign = next((one for one in reasons if one not in _BY_ITSELF), None)
    return None if foreign is None else f"its container did not end by itself ({foreign})"


def _too_old(job: Json, condition: Json, question: Question) -> Reading | None:
    """It was found after nobody had looked for a while."""
    told = condition.get("lastTransitionTime")
    age = 0.0 if told is None else (question.at - _moment(told)).total_seconds()
    if age <= question.max_age_seconds:
        return None
    return Reading(Outcome.STALE, message=f"Job {job['metadata']['name']} ended {age:.0f} s ago")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
