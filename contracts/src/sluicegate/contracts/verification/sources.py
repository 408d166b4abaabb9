"""A gate with a source asks something that can be answered, of both arms, and that can go either way."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final
from urllib.parse import urlsplit

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.placeholders import OF_AN_ARM, PLACEHOLDERS, names_in
from sluicegate.contracts.resources.source import JobSource, Limit, PrometheusSource, Source, WebSource
from sluicegate.contracts.resources.strategy import Gate
from sluicegate.contracts.resources.workflow import Runtime
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.contracts.suggestions import did_you_mean, listed, shown
from sluicegate.contracts.verification.facts import Facts
from sluicegate.contracts.web_paths import web_path

Provider = PrometheusSource | WebSource
_TEXTS: Final = ("bad", "total", "value", "samples")
RESULT_VARIABLE: Final = "SLUICEGATE_RESULT"
"""Of a Job's environment: the file that takes its result."""


def sources(facts: Facts) -> Iterator[Problem]:
    """Every gate has a signal or a source, and the source can be asked and judged."""
    for number, stage in enumerate(facts.spec.rollout.stages):
        for place, gate in enumerate(stage.gates or ()):
            path = f"spec.rollout.stages[{number}].gates[{place}]"
            if (gate.signal is Signal.EXTERNAL) != (gate.source is not None):
                yield _neither_or_both(path, gate)
            elif gate.source is not None:
                yield from _source(f"{path}.source", gate.source, facts.spec.runtime)
                yield from _judged(path, stage.name, gate, gate.source)


def _neither_or_both(path: str, gate: Gate) -> Problem:
    return Problem(
        path=path,
        message="needs exactly one of signal and source",
        value=f"{gate.signal} and source" if gate.source else "nothing",
        allowed="signal: WorkflowSuccessRate, for instance, or source: {prometheus: …}",
        hint="remove one of the two" if gate.source else "add signal",
    )


def _source(path: str, source: Source, runtime: Runtime) -> Iterator[Problem]:
    given = {name: one for name, one in (("prometheus", source.prometheus), ("web", source.web)) if one}
    named = [*given, *(["job"] if source.job is not None else [])]
    if len(named) != 1:
        yield Problem(
            path=path,
            message="needs exactly one provider",
            value=listed(named) or "nothing",
            allowed="prometheus, web or job",
            hint="remove one of them" if named else "add prometheus: {url: …, bad: …, total: …}",
        )
    for name, provider in given.items():
        yield from _provider(f"{path}.{name}", provider, runtime)
    if source.job is not None:
        yield from _job(f"{path}.job", source.job, runtime)
    credential = source.credential_ref
    if credential is not None and source.job is not None:
        yield Problem(
            path=f"{path}.credentialRef",
            message="has no meaning with a Job",
            allowed="with prometheus or web",
            hint="give it to the Job: job.env[].secretKeyRef",
        )
    if credential is not None and (credential.env is None) == (credential.secret_key_ref is None):
        yield Problem(
            path=f"{path}.credentialRef",
            message="needs exactly one place of the token",
            value="both" if credential.env else "nothing",
            allowed="env or secretKeyRef",
            hint="env: SLUICEGATE_SOURCE_TOKEN, for instance",
        )


def _job(path: str, job: JobSource, runtime: Runtime) -> Iterator[Problem]:
    """One way to say each variable, and placeholders that there are."""
    seen = {RESULT_VARIABLE}
    for number, variable in enumerate(job.env):
        where = f"{path}.env[{number}]"
        if variable.name in seen:
            yield Problem(
                path=f"{where}.name",
                message="is set already",
                value=variable.name,
                allowed=f"each name once, and not {RESULT_VARIABLE}",
            )
        seen.add(variable.name)
        if (variable.value is None) == (variable.secret_key_ref is None):
            yield Problem(
                path=where,
                message="needs exactly one of value and secretKeyRef",
                value="both" if variable.value else "nothing",
                allowed="value or secretKeyRef",
            )
        yield from _placeholders(f"{where}.value", variable.value or "", runtime)
    for name in ("command", "args"):
        for number, text in enumerate(getattr(job, name)):
            yield from _placeholders(f"{path}.{name}[{number}]", text, runtime)


def _provider(path: str, provider: Provider, runtime: Runtime) -> Iterator[Problem]:
    given = {name for name in _TEXTS if getattr(provider, name) is not None}
    if given not in ({"bad", "total"}, {"value"}, {"value", "samples"}):
        yield Problem(
            path=path,
            message="needs two counters, or a value",
            value=listed(sorted(given)) or "nothing",
            allowed="bad and total, or value, or value and samples",
            hint="bad and total keep the error budget; a value is judged by measurements in a row",
        )
    if not _has_host(provider.url):
        yield Problem(
            path=f"{path}.url",
            message="names no host, or a port that there is not",
            value=provider.url,
            allowed="http://host:port/path with a port of 1 to 65535 and without a password",
            hint="http://prometheus:9090, for instance; a token belongs in credentialRef",
        )
    for name in ("url", *_TEXTS):
        yield from _placeholders(f"{path}.{name}", getattr(provider, name) or "", runtime)
    if isinstance(provider, WebSource):
        yield from _paths(path, provider)


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc and "{{" not in parts.netloc
        )
    except ValueError:  # the port is no number up to 65535, or a bracket is missing
        return False


def _placeholders(path: str, text: str, runtime: Runtime) -> Iterator[Problem]:
    known = [name for name in PLACEHOLDERS if name != "backend" or runtime is Runtime.SERVICE]
    for name in names_in(text):
        if name not in known:
            yield Problem(
                path=path,
                message="unknown placeholder",
                value=shown("{{" + name + "}}"),
                allowed=listed("{{" + one + "}}" for one in known),
                hint=did_you_mean(name, known)
                or 'a brace of the query\'s own is written alone: sum(up{job="a"})',
            )


def _paths(path: str, provider: WebSource) -> Iterator[Problem]:
    for name in _TEXTS:
        text = getattr(provider, name)
        try:
            web_path(text or "a")
        except ValueError as error:
            yield Problem(
                path=f"{path}.{name}",
                message=str(error),
                value=shown(text),
                allowed="names and indices: data.items[0].errors",
            )


def _judged(path: str, stage: Stage, gate: Gate, source: Source) -> Iterator[Problem]:
    """It can pass and it can fail."""
    if source.prometheus is None and source.web is None and source.job is None:
        return
    if counts(source):
        yield from _of_counts(path, source)
    elif is_outcome(source):
        yield from _of_outcome(path, source)
    else:
        yield from _of_value(path, source)
    if compares(source) and stage is Stage.FULL:
        yield Problem(
            path=f"{path}.source.limit",
            message="in Full the candidate answers everybody, there is no stable beside it",
            value="compared with stable",
            allowed="min or max",
            hint="limit: {max: …}, or compare in Controlled",
        )
    if compares(source) and not _tells_arms_apart(source):
        yield Problem(
            path=f"{path}.source",
            message="both arms would be asked the same, so the gate could never fail",
            value=shown(next(iter(_asked(source)), "")),
            allowed="a query with one of " + listed("{{" + name + "}}" for name in OF_AN_ARM),
            hint='sum(http_requests_total{version="{{version}}"})',
        )
    yield from _without_meaning(path, gate, source)


def _without_meaning(path: str, gate: Gate, source: Source) -> Iterator[Problem]:
    for field, said in (("delta", gate.delta), ("deltaPhi", gate.delta_phi)):
        if said is not None:
            yield Problem(
                path=f"{path}.{field}",
                message="has a meaning with RewardShapleyVariance only",
                value=shown(said),
                allowed="nothing beside a source",
                hint="remove it",
            )
    if gate.margin is not None and not (counts(source) and compares(source)):
        yield Problem(
            path=f"{path}.margin",
            message="has a meaning only where counters are compared with stable",
            value=shown(gate.margin),
            allowed="with bad and total, without limit",
            hint="remove it, or limit" if counts(source) else "write limit: {aboveStable: …}",
        )


def _of_outcome(path: str, source: Source) -> Iterator[Problem]:
    """A Job that says nothing but how it ended."""
    for field, said in (("limit", source.limit), ("minSamples", source.min_samples)):
        if said is not None:
            yield Problem(
                path=f"{path}.source.{field}",
                message="has no meaning with a Job that gives no result: it completes or fails",
                allowed="with job.result",
                hint="remove it, or write job.result",
            )


def _of_value(path: str, source: Source) -> Iterator[Problem]:
    provider = source.prometheus or source.web
    limit = source.limit or Limit()
    given = {name: one for name, one in _bounds(limit).items() if one is not None}
    if not given:
        yield Problem(
            path=f"{path}.source.limit",
            message="is required with value: without it the gate could not fail",
            value="nothing",
            allowed="min, max, aboveStable or belowStable",
            hint='limit: {max: "0.5"}',
        )
    if limit.min is not None and limit.max is not None and Decimal(limit.min) >= Decimal(limit.max):
        yield Problem(
            path=f"{path}.source.limit.min",
            message="is not below max, so that nothing would keep the limit",
            value=limit.min,
            allowed=f"below {limit.max}",
        )
    for name in ("aboveStable", "belowStable"):
        if given.get(name) is not None and Decimal(given[name]) < 0:
            yield Problem(
                path=f"{path}.source.limit.{name}",
                message="is negative: a candidate equal to stable would fail",
                value=given[name],
                allowed="0 or more",
            )
    if provider is None and source.min_samples is not None:
        yield Problem(
            path=f"{path}.source.minSamples",
            message="a Job's value has no number of samples",
            value=str(source.min_samples),
            allowed="with result: Counts",
            hint="remove it",
        )
    if provider is not None and (source.min_samples is None) != (provider.samples is None):
        lacks = "samples" if provider.samples is None else "minSamples"
        yield Problem(
            path=f"{path}.source",
            message=f"{lacks} is missing: with value the two belong together",
            value="nothing",
            allowed="minSamples and samples, or neither",
        )


def _of_counts(path: str, source: Source) -> Iterator[Problem]:
    limit = _bounds(source.limit or Limit())
    if source.limit is not None and all(one is None for one in limit.values()):
        yield Problem(
            path=f"{path}.source.limit",
            message="limits nothing",
            value="nothing",
            allowed="max, the largest rate of bad ones; or no limit: compared with stable by margin",
            hint="remove limit",
        )
    for name in ("min", "aboveStable", "belowStable"):
        if limit[name] is not None:
            yield Problem(
                path=f"{path}.source.limit.{name}",
                message="has a meaning with value only",
                value=limit[name] or "",
                allowed="max, the largest rate of bad ones; or no limit: compared with stable by margin",
            )
    largest = limit["max"]
    if largest is not None and not 0 < Decimal(largest) < 1:
        yield Problem(
            path=f"{path}.source.limit.max",
            message="no rate of bad ones is below 0 or above 1, so the gate could not go both ways",
            value=largest,
            allowed="above 0 and below 1",
            hint='"0.01": one in a hundred',
        )


def _bounds(limit: Limit) -> Mapping[str, str | None]:
    return {
        "min": limit.min,
        "max": limit.max,
        "aboveStable": limit.above_stable,
        "belowStable": limit.below_stable,
    }


def counts(source: Source) -> bool:
    """Whether it reads two counters, else a value."""
    if source.job is not None:
        return source.job.result == "Counts"
    provider = source.prometheus or source.web
    return provider is not None and provider.value is None


def is_outcome(source: Source) -> bool:
    """Whether it is a Job that says nothing but how it ended."""
    return source.job is not None and source.job.result is None


def compares(source: Source) -> bool:
    """Whether stable is measured beside the candidate."""
    limit = source.limit or Limit()
    if counts(source):
        return limit.max is None
    return limit.above_stable is not None or limit.below_stable is not None


def limit_of(source: Source) -> Limit:
    """What its value must keep; how a Job ended is a value, 1 when it completed and 0 when it failed."""
    return Limit(min="1") if is_outcome(source) else source.limit or Limit()


STARTING: Final = 30
"""Seconds beyond its own time in which a Job is made and read."""


def longest(source: Source) -> int:
    """Seconds that one measurement may take."""
    return source.timeout_seconds if source.job is None else source.job.timeout_seconds + STARTING


def _asked(source: Source) -> tuple[str, ...]:
    """The texts by which an arm can be told, of queries without `samples`."""
    if source.job is not None:
        values = (one.value or "" for one in source.job.env)
        return (*source.job.command, *source.job.args, *filter(None, values))
    provider = source.prometheus or source.web
    texts = (getattr(provider, name, None) for name in ("value", "total", "bad"))
    return tuple(text for text in texts if text)


def _tells_arms_apart(source: Source) -> bool:
    own = [any(name in OF_AN_ARM for name in names_in(text)) for text in _asked(source)]
    if source.job is not None:
        return any(own)
    provider = source.prometheus or source.web
    in_url = provider is not None and any(name in OF_AN_ARM for name in names_in(provider.url))
    return in_url or (source.prometheus is not None and all(own))


CHECKS = (sources,)
