"""Latencies along the path that a user waits for, and retries that the deadline leaves no time for."""

from collections.abc import Iterator

from sluicegate.contracts.analysis.branches import branches
from sluicegate.contracts.analysis.calls import chain
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.patience import MAX_DEADLINE_MS, attempt_ms, attempts, deadline_ms
from sluicegate.contracts.resources.workflow import Component, Phase, Step
from sluicegate.contracts.runs import Failure
from sluicegate.contracts.verification.facts import Facts


def awaited(facts: Facts) -> Iterator[tuple[int, Step, Component]]:
    """The steps that a user waits for, in order."""
    for number, step in enumerate(facts.steps):
        component = facts.components.get(step.component)
        if component is not None and step.phase is Phase.IN_REQUEST:
            yield number, step, component


def promises_fit(facts: Facts) -> Iterator[Diagnostic]:
    """What the steps promise adds up to what the workflow promises; where every run must keep it, also in the worst case."""
    limit, quantile = facts.spec.contract.sla.max_latency_ms, float(facts.spec.contract.sla.latency_quantile)
    if limit is None:
        return
    promised = {number: one.sla.max_latency_ms or 0 for number, _, one in awaited(facts)}
    path = branches(facts).heaviest({number: ms for number, ms in promised.items() if ms})
    total = sum(promised[number] for number in path)
    worst = worst_ms(facts)
    if total > limit:
        yield _over(facts, path, promised, limit, worst)
    elif quantile >= 1.0 and worst is not None and worst > limit:
        yield Diagnostic(
            code="LatencyBudget",
            severity=Severity.WARNING,
            path="spec.contract.sla.maxLatencyMs",
            message=f"every run is to keep {limit} ms (latencyQuantile 1), and with all attempts timed out one takes {worst} ms",
            witness=" + ".join(_attempts(one) for _, _, one in awaited(facts)) + f" = {worst} ms",
            hint="lower attempts or timeoutMs, or promise a quantile below 1",
        )


def _over(
    facts: Facts, path: tuple[int, ...], promised: dict[int, int], limit: int, worst: int | None
) -> Diagnostic:
    total = sum(promised[number] for number in path)
    quantile = float(facts.spec.contract.sla.latency_quantile)
    kept = max(0.0, 1.0 - len(path) * (1.0 - quantile))
    at_worst = f"; with every attempt timed out {worst} ms" if worst else ""
    return Diagnostic(
        code="LatencyBudget",
        severity=Severity.WARNING,
        path="spec.contract.sla.maxLatencyMs",
        message=f"the steps promise {total} ms together, the workflow promises {limit} ms; if each promise is kept by {quantile:.4g} of the calls, "
        f"the sum is kept by at least {kept:.4g} of the runs (a bound){at_worst}",
        witness=f"{' + '.join(f'{facts.steps[number].name} {promised[number]}' for number in path)} = {total} ms",
        hint=f"take {total - limit} ms away, run a step AfterAnswer, or raise the workflow's maxLatencyMs",
    )


def worst_ms(facts: Facts) -> int | None:
    """With every attempt timed out, the longest back-off between them and every stand-in asked; None: one attempt has no time of its own."""
    weights: dict[int, float] = {}
    for number, _, component in awaited(facts):
        took = [_worst_of(one) for one in chain(facts, component)]
        if None in took:
            return None
        weights[number] = sum(ms for ms in took if ms is not None)
    return round(sum(weights[number] for number in branches(facts).heaviest(weights)))


def _worst_of(component: Component) -> int | None:
    one, tries = attempt_ms(component), attempts(component)
    return None if one is None else one * tries + sum(backoffs_ms(component))


def backoffs_ms(component: Component) -> tuple[int, ...]:
    """The longest waits between the attempts of one call: full jitter at its maximum."""
    backoff = component.retry.backoff
    return tuple(min(backoff.max_ms, backoff.base_ms << number) for number in range(attempts(component) - 1))


def _attempts(component: Component) -> str:
    waits = sum(backoffs_ms(component))
    return f"{component.name} {attempts(component)} × {attempt_ms(component)}{f' + {waits}' if waits else ''}"


def retries_can_run(facts: Facts) -> Iterator[Diagnostic]:
    """After time-outs there is time for the next attempt."""
    before, told = 0, set[str]()
    for _, step, component in awaited(facts):
        retried = attempts(component) > 1 and Failure.TIMEOUT in component.retry.retry_on
        if retried and component.name not in told:
            found = tuple(_dead(facts, step, component, before))
            told.update(component.name for _ in found)
            yield from found
        before += component.sla.max_latency_ms or 0 if step.when is None else 0


def _dead(facts: Facts, step: Step, component: Component, before: int) -> Iterator[Diagnostic]:
    """before: milliseconds that the steps before it promise to take."""
    one, left = attempt_ms(component), deadline_ms(facts.spec) - before
    only = set(component.retry.retry_on) == {Failure.TIMEOUT}
    path = f"spec.components[{facts.spec.components.index(component)}]"
    if one is None:
        yield Diagnostic(
            code="DeadRetry",
            severity=Severity.ERROR if only else Severity.WARNING,
            path=f"{path}.retry",
            message=f"after a time-out no attempt of {component.name} can follow: one attempt takes all that is left of the run's deadline",
            witness="timeoutMs and sla.maxLatencyMs are not set",
            hint="set timeoutMs to what one attempt may take",
        )
        return
    dead = next((number for number in range(1, attempts(component)) if number * one >= left), None)
    if dead is not None:
        yield Diagnostic(
            code="DeadRetry",
            severity=Severity.ERROR if only and one >= MAX_DEADLINE_MS else Severity.WARNING,
            path=f"{path}.retry.maxAttempts",
            message=f"attempt {dead + 1} of {component.name} in step {step.name} never begins after {dead} time-outs: the run's deadline is {deadline_ms(facts.spec)} ms",
            witness=f"{dead} × {one} ms ≥ {deadline_ms(facts.spec)} ms - {before} ms before it",
            hint=f"timeoutMs below {max(1, left // attempts(component))}, or maxAttempts: {dead}",
        )
