"""Gates with a source: what is admitted, and what is refused with a path and a hint."""

from typing import Any

import pytest

from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.placeholders import filled, names_in
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.verification import verify
from sluicegate.contracts.web_paths import found_at, web_path
from tests.contracts.files import minimal

SAFE = {"name": "success", "signal": "WorkflowSuccessRate"}
COUNTS: dict[str, Any] = {
    "url": "http://prometheus:9090",
    "bad": 'sum(errors_total{version="{{version}}"}) or vector(0)',
    "total": 'sum(requests_total{version="{{ version }}"})',
}
VALUE: dict[str, Any] = {"url": "http://prometheus:9090", "value": 'p95{arm="{{arm}}"}'}
MAX: dict[str, Any] = {"limit": {"max": "500"}}
JOB: dict[str, Any] = {"image": "load:1", "args": ["--target={{version}}"]}


def job(provider: dict[str, Any], **source: Any) -> dict[str, Any]:
    return sourced({"job": JOB | provider} | source)


def managed(*gates: dict[str, Any], stage: str = "Canary") -> dict[str, Any]:
    return minimal(rollout={"stages": [{"name": stage, "gates": [SAFE, *gates]}]})


def service(*gates: dict[str, Any], stage: str = "Canary") -> dict[str, Any]:
    return minimal(
        runtime="Service",
        components=[],
        service={"route": {"name": "r"}, "backend": {"name": "b", "port": 80}},
        rollout={"skipStages": ["Shadow"], "stages": [{"name": stage, "gates": list(gates)}]},
    )


def sourced(source: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "outside", "source": source} | fields


def prometheus(provider: dict[str, Any], **source: Any) -> dict[str, Any]:
    return sourced({"prometheus": provider} | source)


def problems(data: dict[str, Any]) -> list[tuple[str, str]]:
    workflow = parse_data(data)
    assert isinstance(workflow, AgentWorkflow)
    return [(one.path, one.message) for one in verify(workflow)]


FINE: dict[str, dict[str, Any]] = {
    "counters compared with stable": managed(prometheus(COUNTS)),
    "counters with a margin": managed(prometheus(COUNTS) | {"margin": "0.02"}),
    "counters below a rate": managed(prometheus(COUNTS, limit={"max": "0.01"}), stage="Full"),
    "a value below a limit, of the candidate alone": managed(prometheus(VALUE | {"value": "max(load)"}, **MAX), stage="Full"),
    "a value beside stable's": managed(prometheus(VALUE, limit={"aboveStable": "50", "max": "1000"})),
    "a value with samples": managed(prometheus(VALUE | {"samples": "sum(n)"}, **MAX, minSamples=30)),
    "two gates with a source": managed(prometheus(COUNTS), prometheus(VALUE, **MAX) | {"name": "other"}),
    "a signal that is said as well": managed(prometheus(COUNTS) | {"signal": "External"}),
    "a token in the environment": managed(prometheus(COUNTS, credentialRef={"env": "SLUICEGATE_SOURCE_TOKEN"})),
    "a document for each arm": managed(sourced({"web": {"url": "http://a/{{arm}}.json", "bad": "a.b[0]", "total": "n"}})),
    "a Job that completes or fails": managed(job({}), stage="Full"),
    "a Job with counts beside stable's": managed(job({"result": "Counts"}, minSamples=100) | {"margin": "0.02"}),
    "a Job with counts below a rate": managed(job({"result": "Counts", "args": []}, limit={"max": "0.01"}), stage="Full"),
    "a Job with a value": managed(job({"result": "Value"}, **MAX)),
    "a Job with variables": managed(
        job({"env": [{"name": "TARGET", "value": "{{arm}}"}, {"name": "TOKEN", "secretKeyRef": {"name": "s", "key": "k"}}]})
    ),
    "a Job of runtime Service": service(job({"args": ["http://{{backend}}"]})),
    "runtime Service": service(prometheus(COUNTS | {"bad": 'b{s="{{backend}}"}', "total": 't{s="{{backend}}"}'})),
}  # fmt: skip


@pytest.mark.parametrize("sentence", FINE)
def test_nothing_is_found_in(sentence: str) -> None:
    assert problems(FINE[sentence]) == []


_GATE = "spec.rollout.stages[0].gates[1]"
BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "neither signal nor source": (managed({"name": "x"}), _GATE, "exactly one of signal and source"),
    "both": (managed(prometheus(COUNTS) | {"signal": "WorkflowReward"}), _GATE, "exactly one of signal and source"),
    "no provider": (managed(sourced({})), f"{_GATE}.source", "exactly one provider"),
    "two providers": (
        managed(sourced({"prometheus": COUNTS, "web": {"url": "http://a/{{arm}}", "value": "v"}})), f"{_GATE}.source", "exactly one provider",
    ),
    "bad without total": (managed(prometheus({"url": "http://a", "bad": "b"})), f"{_GATE}.source.prometheus", "two counters, or a value"),
    "samples of counters": (managed(prometheus(COUNTS | {"samples": "n"})), f"{_GATE}.source.prometheus", "two counters, or a value"),
    "an unknown placeholder": (
        managed(prometheus(COUNTS | {"bad": 'b{v="{{versoin}}"} + {{version}}'})), f"{_GATE}.source.prometheus.bad", "unknown placeholder",
    ),
    "a backend of runtime Managed": (
        managed(prometheus(COUNTS | {"bad": 'b{v="{{backend}}"}'})), f"{_GATE}.source.prometheus.bad", "unknown placeholder",
    ),
    "a host that depends on the arm": (managed(sourced({"web": {"url": "http://{{arm}}/", "value": "v"}, **MAX})), f"{_GATE}.source.web.url", "names no host"),
    "a password in the address": (managed(prometheus(COUNTS | {"url": "http://me:secret@a/"})), f"{_GATE}.source.prometheus.url", "names no host"),
    "no path": (managed(sourced({"web": {"url": "http://a/{{arm}}", "value": "a..b"}, **MAX})), f"{_GATE}.source.web.value", "is not a path"),
    "a value without a limit": (managed(prometheus(VALUE)), f"{_GATE}.source.limit", "could not fail"),
    "limits that nothing keeps": (managed(prometheus(VALUE, limit={"min": "2", "max": "1"})), f"{_GATE}.source.limit.min", "nothing would keep"),
    "a limit below stable itself": (managed(prometheus(VALUE, limit={"aboveStable": "-1"})), f"{_GATE}.source.limit.aboveStable", "equal to stable would fail"),
    "a rate above 1": (managed(prometheus(COUNTS, limit={"max": "1.5"})), f"{_GATE}.source.limit.max", "could not go both ways"),
    "a least rate of bad ones": (managed(prometheus(COUNTS, limit={"min": "0.5"})), f"{_GATE}.source.limit.min", "with value only"),
    "the same question of both arms": (managed(prometheus(COUNTS | {"total": "sum(requests_total)"})), f"{_GATE}.source", "asked the same"),
    "the same document for both arms": (managed(sourced({"web": {"url": "http://a/", "bad": "b", "total": "t"}})), f"{_GATE}.source", "asked the same"),
    "samples without a least number": (managed(prometheus(VALUE | {"samples": "n"}, **MAX)), f"{_GATE}.source", "belong together"),
    "a least number without samples": (managed(prometheus(VALUE, **MAX, minSamples=3)), f"{_GATE}.source", "belong together"),
    "stable in Full": (managed(prometheus(COUNTS), stage="Full"), f"{_GATE}.source.limit", "no stable beside it"),
    "a margin on a value": (managed(prometheus(VALUE, **MAX) | {"margin": "0.1"}), f"{_GATE}.margin", "counters are compared with stable"),
    "a margin beside a limit": (managed(prometheus(COUNTS, limit={"max": "0.1"}) | {"margin": "0.1"}), f"{_GATE}.margin", "counters are compared with stable"),
    "a limit of nothing": (managed(prometheus(COUNTS, limit={})), f"{_GATE}.source.limit", "limits nothing"),
    "a delta of contributions": (managed(prometheus(COUNTS) | {"delta": "0.1"}), f"{_GATE}.delta", "RewardShapleyVariance only"),
    "a shift of contributions": (managed(prometheus(COUNTS) | {"deltaPhi": "0.1"}), f"{_GATE}.deltaPhi", "RewardShapleyVariance only"),
    "a Job and a query": (managed(sourced({"job": JOB, "prometheus": COUNTS})), f"{_GATE}.source", "exactly one provider"),
    "a Job that asks both arms the same": (managed(job({"result": "Counts", "args": ["x"]})), f"{_GATE}.source", "asked the same"),
    "a limit of how a Job ended": (managed(job({}, limit={"max": "1"})), f"{_GATE}.source.limit", "completes or fails"),
    "samples of how a Job ended": (managed(job({}, minSamples=5)), f"{_GATE}.source.minSamples", "completes or fails"),
    "a margin of how a Job ended": (managed(job({}) | {"margin": "0.1"}), f"{_GATE}.margin", "counters are compared with stable"),
    "a Job's value without a limit": (managed(job({"result": "Value"})), f"{_GATE}.source.limit", "could not fail"),
    "samples of a Job's value": (managed(job({"result": "Value"}, minSamples=5, **MAX)), f"{_GATE}.source.minSamples", "no number of samples"),
    "a Job's counts beside stable's in Full": (managed(job({"result": "Counts"}), stage="Full"), f"{_GATE}.source.limit", "no stable beside it"),
    "a token of a Job": (managed(job({}, credentialRef={"env": "SLUICEGATE_SOURCE_A"})), f"{_GATE}.source.credentialRef", "no meaning with a Job"),
    "a variable without a value": (managed(job({"env": [{"name": "A"}]})), f"{_GATE}.source.job.env[0]", "exactly one of value and secretKeyRef"),
    "a variable that is set already": (managed(job({"env": [{"name": "SLUICEGATE_RESULT", "value": "/x"}]})), f"{_GATE}.source.job.env[0].name", "is set already"),
    "a variable twice": (
        managed(job({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]})), f"{_GATE}.source.job.env[1].name", "is set already",
    ),
    "an unknown placeholder of a Job": (managed(job({"args": ["ok", "{{versoin}}"]})), f"{_GATE}.source.job.args[1]", "unknown placeholder"),
    "no token": (managed(prometheus(COUNTS, credentialRef={})), f"{_GATE}.source.credentialRef", "one place of the token"),
    "only a source, of runtime Managed": (
        minimal(rollout={"stages": [{"name": "Canary", "gates": [prometheus(COUNTS)]}]}), "spec.rollout.stages[0].gates", "no safety gate",
    ),
    "a signal of runtime Service": (service(SAFE), "spec.rollout.stages[0].gates", "its runs are not seen"),
    "no required gate of runtime Service": (service(prometheus(COUNTS) | {"required": False}), "spec.rollout.stages[0].gates", "could never be passed"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", BAD)
def test_refused(sentence: str) -> None:
    data, path, words = BAD[sentence]
    found = problems(data)
    assert path in [one for one, _ in found], found
    assert any(words in message for where, message in found if where == path), found


def test_the_environment_is_not_sent_away() -> None:
    """Any variable that a source may name was meant for one."""
    from sluicegate.contracts.errors import Refused

    with pytest.raises(Refused, match="env"):
        parse_data(managed(prometheus(COUNTS, credentialRef={"env": "AWS_SECRET_ACCESS_KEY"})))


def test_placeholders() -> None:
    assert names_in('sum(a{v="{{version}}", b=~"{{ arm }}"}) {{}}') == ("version", "arm", "")
    assert filled("{{arm}}/{{ version }}", {"arm": "stable", "version": "1+x"}) == "stable/1+x"
    with pytest.raises(KeyError):
        filled("{{what}}", {})


def test_paths_into_a_document() -> None:
    assert web_path("data.items[0].a-b") == ("data", "items", 0, "a-b")
    assert found_at({"a": [{"b": 1}]}, ("a", 0, "b")) == 1
    for text in ("", ".", "a.", "a[", "a[-1]", "a[x]", "a b", "[1", "a[1]b"):
        with pytest.raises(ValueError, match="is not a path"):
            web_path(text)


@pytest.mark.parametrize(
    "wish",
    [
        {"serviceAccountName": "admin"},
        {"hostNetwork": True},
        {"volumes": [{"hostPath": {"path": "/"}}]},
        {"securityContext": {"privileged": True}},
        {"runAsUser": 0},
        {"timeoutSeconds": 3601},
        {"resources": {"cpu": "0x"}},
        {"resources": {"nvidia.com/gpu": "1"}},
        {"envFrom": [{"secretRef": {"name": "s"}}]},
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]},
        {"image": "a b"},
    ],
    ids=str,
)
def test_a_job_is_no_pod_spec(wish: dict[str, Any]) -> None:
    """What would give more than a container that the author could start himself has no field."""
    from sluicegate.contracts.errors import Refused

    with pytest.raises(Refused):
        parse_data(managed(job(wish)))
