"""Jobs of gates, on a Kubernetes API of a few lines: what each end of a Job says, and what the pod may never have."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pytest

from sluicegate.contracts.errors import Conflict, Forbidden, NotFound, Problem, Unavailable
from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.resources.source import JobSource
from sluicegate.contracts.stages import Stage
from sluicegate.operator.cluster.job_manifest import manifest
from sluicegate.operator.cluster.jobs import JobEvidence
from sluicegate.operator.cluster.ports import JOBS, PODS, Api, Page
from sluicegate.operator.ports import Json, Question
from sluicegate.rollout.job_runs import JobRun
from sluicegate.rollout.measurements import Inquiry, Outcome

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = EvidenceKey("ro-1", Stage.CANARY, 1)
Act = Callable[["Kube", Json], None]
Acts: TypeAlias = list[Act]
Names: TypeAlias = list[str]
Objects: TypeAlias = list[Json]
"""Types that a class with a method `list` cannot name."""


@dataclass
class Kube:
    """Jobs by name, their pods, and what becomes of a Job at each look (`ends`)."""

    ends: Acts = field(default_factory=list)
    jobs: dict[str, Json] = field(default_factory=dict)
    pods: Objects = field(default_factory=list)
    made: Names = field(default_factory=list)
    gone: Names = field(default_factory=list)
    refusal: Exception | None = None
    seconds: float = 0.0

    async def create(self, api: Api, item: Json, *, manager: str) -> Json:
        assert (api, bool(manager)) == (JOBS, True)
        if self.refusal:
            raise self.refusal
        name = item["metadata"]["name"]
        if name in self.jobs:
            raise Conflict(f"{name} exists")
        self.made.append(name)
        self.jobs[name] = {**item, "metadata": {**item["metadata"], "uid": f"uid-{name}"}}
        return self.jobs[name]

    async def get(self, api: Api, namespace: str | None, name: str) -> Json:
        assert (api, namespace) == (JOBS, "shop")
        if name in self.jobs and self.ends:
            self.ends.pop(0)(self, self.jobs[name])
        if name not in self.jobs:
            raise NotFound(name)
        return self.jobs[name]

    async def list(self, api: Api, namespace: str | None = None, *, labels: Any = None) -> Page:
        assert (api, namespace) == (PODS, "shop")
        wanted = labels["batch.kubernetes.io/job-name"]
        return Page(items=[pod for pod in self.pods if pod["metadata"]["name"] == wanted], version="1")

    async def delete(self, api: Api, namespace: str | None, name: str, *, uid: str | None = None) -> None:
        assert (api, namespace, uid) == (JOBS, "shop", None)
        self.gone.append(name)
        if self.jobs.pop(name, None) is None:
            raise NotFound(name)

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        assert self.seconds < 1000.0, "it never ends"


def ended(kind: str, reason: str = "", *, ago: float = 0.0) -> Act:
    """The Job's own condition."""

    def act(kube: Kube, job: Json) -> None:
        at = (kube.now() - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
        told = {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": at}
        job["status"] = {"conditions": [told]}

    return act


def exited(code: int, message: str = "", *, reason: str = "Error", **status: Any) -> Act:
    """Its container ended by itself, or was said to."""

    def act(kube: Kube, job: Json) -> None:
        ended("Complete" if code == 0 else "Failed", "BackoffLimitExceeded")(kube, job)
        kube.pods.append(
            pod(job, {"terminated": {"exitCode": code, "reason": reason, "message": message}}, **status)
        )

    return act


def pod(job: Json, state: Json, **status: Any) -> Json:
    owner = {"kind": "Job", "uid": job["metadata"]["uid"], "controller": True}
    return {
        "metadata": {"name": job["metadata"]["name"], "ownerReferences": [owner]},
        "status": {"containerStatuses": [{"name": "look", "state": state}], **status},
    }


def vanishes(kube: Kube, job: Json) -> None:
    kube.jobs.clear()


def deleted(kube: Kube, job: Json) -> None:
    job["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"


def replaced(kube: Kube, job: Json) -> None:
    exited(0)(kube, job)
    job["metadata"]["uid"] = "another"


def without_pod(kube: Kube, job: Json) -> None:
    ended("Failed", "BackoffLimitExceeded")(kube, job)


def foreign(kube: Kube, job: Json) -> None:
    """Somebody's pod with the Job's labels."""
    exited(1, '{"bad": 0, "total": 9}')(kube, job)
    kube.pods[0]["metadata"]["ownerReferences"] = [{"kind": "Job", "uid": "x", "controller": True}]


def run(result: str | None = None, number: int = 1) -> tuple[JobRun, Question]:
    template = JobSource.model_validate(
        {"image": "load:1", "timeoutSeconds": 60} | ({"result": result} if result else {})
    )
    made = JobRun(key=KEY, namespace="shop", rollout="bot-1", gate="load", arm="candidate", template=template)
    fields = {"Counts": (("bad", "bad"), ("total", "total")), "Value": (("value", "value"),)}
    inquiry = Inquiry(arm="candidate", url="", texts=fields.get(result or "", (("value", ""),)), job=made)
    return made, Question(inquiry=inquiry, at=NOW, max_age_seconds=120, timeout_seconds=90.0, number=number)


async def read(kube: Kube, result: str | None = None, number: int = 1) -> tuple[list[Any], str]:
    _, question = run(result, number)
    found = await JobEvidence(kube, kube).read(question)  # type: ignore[arg-type]  # a few of its calls
    return [one.value if one.outcome is Outcome.VALUE else one.outcome for one in found], found[0].message


STILL: Act = lambda _kube, _job: None  # noqa: E731 - one word for a table
PLAIN: dict[str, tuple[list[Act], Any, str]] = {
    "it completes": ([exited(0)], 1.0, "completed"),
    "it completes after a while": ([STILL, STILL, exited(0)], 1.0, "completed"),
    "it fails": ([exited(3)], 0.0, "failed with exit code 3"),
    "it runs out of time": ([ended("Failed", "DeadlineExceeded")], Outcome.TIMEOUT, "within 60 s"),
    "it is gone": ([vanishes], Outcome.NO_DATA, "is gone"),
    "it is being deleted": ([deleted], Outcome.NO_DATA, "is gone"),
    "it was made again by somebody": ([replaced], Outcome.NO_DATA, "is gone"),
    "it failed and no pod is left": ([without_pod], Outcome.ERROR, "no container of it ended"),
    "the pod is of somebody else": ([foreign], Outcome.ERROR, "no container of it ended"),
    "killed for memory": ([exited(137, reason="OOMKilled")], Outcome.ERROR, "too little memory"),
}


def disrupted(kube: Kube, job: Json) -> None:
    exited(
        137, conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    )(kube, job)


def evicted(kube: Kube, job: Json) -> None:
    exited(1)(kube, job)
    kube.pods[0]["status"]["reason"] = "Evicted"


def drained(kube: Kube, job: Json) -> None:
    """A test that handles SIGTERM and ends with 0: the Job is Complete, and nothing was tested to its end."""
    exited(0, conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}])(
        kube, job
    )


def pod_deleted(kube: Kube, job: Json) -> None:
    exited(143)(kube, job)
    kube.pods[0]["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"


PLAIN |= {
    "its node was drained, and it ended well": ([drained], Outcome.ERROR, "EvictionByEvictionAPI"),
    "its pod was deleted": ([pod_deleted], Outcome.ERROR, "was deleted"),
    "its command is not there": ([exited(128, reason="StartError")], Outcome.ERROR, "StartError"),
    "its node was started anew": (
        [exited(137, reason="ContainerStatusUnknown")],
        Outcome.ERROR,
        "did not end by itself",
    ),
    "its pod was preempted": ([disrupted], Outcome.ERROR, "PreemptionByScheduler"),
    "its pod was evicted": ([evicted], Outcome.ERROR, "ended from outside (Evicted)"),
}


@pytest.mark.parametrize("sentence", PLAIN)
async def test_a_job_that_says_how_it_ended(sentence: str) -> None:
    ends, expected, words = PLAIN[sentence]
    values, message = await read(Kube(ends=list(ends)))
    assert values == [expected]
    assert words in message


COUNTED: dict[str, tuple[Act, list[Any]]] = {
    "counts": (exited(0, '{"bad": 3, "total": 500}'), [3.0, 500.0]),
    "after other lines": (exited(0, 'warming up\n{"bad": 9, "total": 9}\n{"bad": 3, "total": 500}\n\n'), [3.0, 500.0]),
    "of a load test that failed its own limits": (exited(99, '{"bad": 30, "total": 500}'), [30.0, 500.0]),
    "nothing": (exited(0), [Outcome.NO_DATA] * 2),
    "nothing, and it failed": (exited(1), [Outcome.NO_DATA] * 2),
    "no JSON": (exited(0, "3 of 500"), [Outcome.AMBIGUOUS] * 2),
    "no object": (exited(0, "[3, 500]"), [Outcome.AMBIGUOUS] * 2),
    "half of it": (exited(0, '{"bad": 3}'), [3.0, Outcome.NO_DATA]),
    "no numbers": (exited(0, '{"bad": true, "total": "many"}'), [Outcome.AMBIGUOUS] * 2),
    "numbers that are none": (exited(0, '{"bad": "NaN", "total": "inf"}'), [Outcome.NON_FINITE] * 2),
    "a result of a pod that was evicted": (evicted, [Outcome.ERROR] * 2),
    "a result of another's pod": (foreign, [Outcome.ERROR] * 2),
}  # fmt: skip


@pytest.mark.parametrize("sentence", COUNTED)
async def test_a_job_that_counts(sentence: str) -> None:
    act, expected = COUNTED[sentence]
    assert (await read(Kube(ends=[act]), "Counts"))[0] == expected


async def test_a_look_is_started_once_whoever_asks() -> None:
    """Another process, or the same one again, finds the Job of the look by its name."""
    kube = Kube(ends=[exited(0)])
    assert (await read(kube))[0] == [1.0]
    assert (await read(kube))[0] == [1.0]
    assert len(kube.made) == 1
    kube.ends = [exited(0)]
    await read(kube, number=2)
    assert len(kube.made) == 2


async def test_what_ended_while_nobody_looked_is_stale() -> None:
    kube = Kube(ends=[exited(0)])
    await read(kube)
    kube.jobs[kube.made[0]]["status"]["conditions"][0]["lastTransitionTime"] = "2026-03-01T11:57:59Z"
    values, message = await read(kube)
    assert values == [Outcome.STALE]
    assert "121 s ago" in message


async def test_a_job_of_somebody_else_under_this_name_is_not_taken() -> None:
    made, _ = run()
    kube = Kube()
    held = manifest(made, 1)
    held["metadata"] |= {"uid": "forged", "ownerReferences": []}
    exited(0)(kube, held)
    kube.jobs[held["metadata"]["name"]] = held
    assert (await read(kube))[0] == [Outcome.ERROR]


@pytest.mark.parametrize(
    "refusal", [Forbidden((Problem(path="rights", message="may not create jobs"),)), Unavailable("down")]
)
async def test_a_job_that_cannot_be_made_is_a_failure_of_the_provider(refusal: Exception) -> None:
    kube = Kube(refusal=refusal)
    values, message = await read(kube)
    assert values == [Outcome.ERROR]
    assert "Job sluicegate-look-" in message


async def test_the_newest_three_looks_keep_their_jobs() -> None:
    kube = Kube()
    for number in range(1, 6):
        kube.ends = [exited(0)]
        await read(kube, number=number)
    assert sorted(kube.jobs) == sorted(kube.made[2:])
    assert kube.gone == kube.made[:2]


def test_the_pod_has_nothing_of_the_host_and_no_token() -> None:
    """The Pod Security Standard "restricted", its controls by name, and nothing that the author can change about them."""
    template = JobSource.model_validate(
        {
            "image": "load:1",
            "command": ["load"],
            "args": ["-n", "9"],
            "env": [{"name": "A", "value": "1"}, {"name": "T", "secretKeyRef": {"name": "s", "key": "k"}}],
            "resources": {"cpu": "1", "memory": "1Gi"},
        }
    )
    made = JobRun(key=KEY, namespace="shop", rollout="bot-1", gate="load", arm="stable", template=template)
    job = manifest(made, 3)
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert set(spec) == {
        "restartPolicy", "automountServiceAccountToken", "enableServiceLinks", "securityContext", "containers",
    }  # fmt: skip
    assert (spec["restartPolicy"], spec["automountServiceAccountToken"]) == ("Never", False)
    user = spec["securityContext"]
    assert (user["runAsNonRoot"], user["runAsUser"], user["seccompProfile"]) == (
        True,
        65534,
        {"type": "RuntimeDefault"},
    )
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}
    assert [one["name"] for one in container["env"]] == ["A", "T", "SLUICEGATE_RESULT"]
    assert container["env"][1]["valueFrom"] == {"secretKeyRef": {"name": "s", "key": "k"}}
    assert "volumeMounts" not in container
    assert (job["spec"]["backoffLimit"], job["spec"]["ttlSecondsAfterFinished"]) == (0, 3600)
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        "WorkflowRollout",
        "bot-1",
        "ro-1",
        True,
    )
    assert all(len(value) <= 63 for value in job["metadata"]["labels"].values())
