"""The options of `contract sla`, read: every mistake at once, before anything is sent."""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sluicegate.console.loading import inputs, target
from sluicegate.console.loading.plan import MOST_RATE, MOST_RUNS, Arrivals, LoadPlan, Script
from sluicegate.contracts.compiled import CompiledWorkflow, compile_workflow
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.expressions import Compiled, ExpressionError, compile_expression
from sluicegate.contracts.resources.workflow import AgentWorkflow, Component, Runtime
from sluicegate.contracts.sla import Measure, Promise, promises
from sluicegate.contracts.suggestions import did_you_mean, listed
from sluicegate.gateway.protocols.places import Place
from sluicegate.gateway.protocols.table import PROTOCOLS

if TYPE_CHECKING:
    from sluicegate.contracts.domains import CompiledDomain

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIMEOUT: Final = (2.0, 60.0)
"""Seconds: the least and the most of what is waited for one answer unless --timeout says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlaOptions:
    """As they stand on the command line. Times are texts such as 60s."""

    component: str | None = None
    url: str | None = None
    rate: float = 20.0
    duration: str | None = None
    max_runs: int | None = None
    inputs: Path | None = None
    session: str | None = None
    arrivals: str = Arrivals.POISSON.value
    think_time: str = "0s"
    warm_up: str = "5s"
    timeout: str | None = None
    max_in_flight: int = 1000
    confidence: str = "0.95"
    seed: int = 1
    files: tuple[tuple[str, Path | None], ...] = ()  # option -> a file that will be written


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A test that can begin."""

    workflow: AgentWorkflow
    component: Component | None
    target: target.Target
    promises: tuple[Promise, ...]
    plan: LoadPlan
    scripts: tuple[Script, ...]
    alpha: float
    are_inputs_made: bool

    @property
    def inputs(self) -> list[Any]:
        """All of them, for a digest."""
        return [list(script.inputs) for script in self.scripts]


def ask(workflow: AgentWorkflow, options: SlaOptions) -> Asked:
    """Raises Refused with everything that is wrong."""
    reading = _Reading(workflow, options)
    asked = reading.asked()
    if reading.problems or asked is None:
        raise Refused(tuple(reading.problems))
    return asked


class _Reading:
    """Reads one option after the other and keeps what is wrong."""

    def __init__(self, workflow: AgentWorkflow, options: SlaOptions) -> None:
        self.workflow, self.options = workflow, options
        self.problems: list[Problem] = []

    def asked(self) -> Asked | None:
        options, spec = self.options, self.workflow.spec
        part = self._component()
        told = self._promises(part)
        plan = self._plan(told)
        alpha = 1.0 - self._confidence()
        url = self._url(part)
        for option, file in options.files:
            if file is not None and not file.absolute().parent.is_dir():
                self._problem(option, "its folder does not exist", str(file))
        compiled = compile_workflow(spec) if spec.runtime is Runtime.MANAGED else None
        if compiled is None:
            hint = "test it through a component, or measure it where it runs"
            self._problem("-f", "a workflow of runtime Service has no contract of its runs", hint=hint)
            return None
        scripts, made = self._scripts(compiled, part)
        if self.problems:
            return None
        return Asked(
            workflow=self.workflow,
            component=part,
            target=self._target(compiled, part, url, plan.timeout),
            promises=told,
            plan=plan,
            scripts=scripts,
            alpha=alpha,
            are_inputs_made=made,
        )

    def _problem(
        self,
        path: str,
        message: str,
        value: object = None,
        *,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        said = None if value is None else str(value)
        self.problems.append(Problem(path=path, message=message, value=said, allowed=allowed, hint=hint))

    def _component(self) -> Component | None:
        name, parts = self.options.component, {one.name: one for one in self.workflow.spec.components}
        if name is None:
            return None
        if name not in parts:
            hint = did_you_mean(name, parts)
            self._problem("--component", "no such component", name, allowed=listed(parts), hint=hint)
        return parts.get(name)

    def _promises(self, part: Component | None) -> tuple[Promise, ...]:
        if part is None and self.options.component is not None:
            return ()
        spec = self.workflow.spec
        where = f"spec.components[{spec.components.index(part)}].sla" if part else "spec.contract.sla"
        told = promises(part.sla if part else spec.contract.sla)
        if not told:
            hint = "add maxLatencyMs, minSuccessRate or maxFallbackRate"
            self._problem(where, "promises nothing that can be tested", hint=hint)
        for one in told:
            if one.most <= 0:
                field = "latencyQuantile" if one.measure is Measure.LATENCY else one.field
                self._problem(
                    f"{where}.{field}",
                    "no number of runs can show that something never happens",
                    hint='promise a rate that a test can show, for instance minSuccessRate "0.99", latencyQuantile "0.95"',
                )
        return told

    def _plan(self, told: tuple[Promise, ...]) -> LoadPlan:
        options = self.options
        if not 0.0 < options.rate <= MOST_RATE:
            self._problem(
                "--rate", "sessions a second", options.rate, allowed=f"above 0, at most {MOST_RATE:g}"
            )
        if options.max_runs is not None and not 1 <= options.max_runs <= MOST_RUNS:
            self._problem("--max-runs", "sessions to measure", options.max_runs, allowed=f"1 to {MOST_RUNS}")
        if not 1 <= options.max_in_flight <= 10_000:
            self._problem("--max-in-flight", "sessions", options.max_in_flight, allowed="1 to 10000")
        latency = max((one.latency_ms or 0 for one in told), default=0) / 1000.0
        default = min(max(4.0 * latency, _TIMEOUT[0]), max(_TIMEOUT[1], 2.0 * latency))
        timeout = default if options.timeout is None else self._seconds("--timeout", options.timeout)
        if timeout <= latency:
            self._problem("--timeout", "is not longer than the promised latency", f"{timeout:g}s")
        duration = options.duration or (None if options.max_runs is not None else "60s")
        return LoadPlan(
            rate=options.rate,
            duration=None if duration is None else self._seconds("--duration", duration, least=0.001),
            most_runs=options.max_runs,
            warm_up=self._seconds("--warm-up", options.warm_up),
            think_time=self._seconds("--think-time", options.think_time),
            timeout=timeout,
            arrivals=self._arrivals(),
            seed=options.seed,
            max_in_flight=options.max_in_flight,
        )

    def _arrivals(self) -> Arrivals:
        text = self.options.arrivals
        if text in set(Arrivals):
            return Arrivals(text)
        self._problem(
            "--arrivals", "unknown", text, allowed=", ".join(Arrivals), hint=did_you_mean(text, Arrivals)
        )
        return Arrivals.POISSON

    def _seconds(self, option: str, text: str, least: float = 0.0) -> float:
        found = _DURATION.fullmatch(text)
        seconds = float(found[1]) * _UNITS[found[2]] if found else -1.0
        if not least <= seconds <= 86_400.0:
            self._problem(option, "is not a time", text, allowed="500ms, 60s, 5m, 1h; at most 24h")
            return 1.0
        return seconds

    def _confidence(self) -> float:
        try:
            value = Decimal(self.options.confidence)
        except InvalidOperation:
            value = Decimal(0)
        if not Decimal("0.5") <= value < 1:
            self._problem(
                "--confidence", "of all verdicts together", self.options.confidence, allowed="0.5 to 0.9999"
            )
            return 0.95
        return float(value)

    def _url(self, part: Component | None) -> str:
        given = self.options.url
        if given is None and part is not None:
            given = Place().address(part.endpoint) if part.endpoint.service_ref is None else None
        if given is None and self.options.component is not None and part is None:
            return ""
        if given is None or not re.fullmatch(r"https?://[^\s/]+(/\S*)?", given):
            what = "of the component" if part else "of the workflow's gateway"
            hint = "--url http://127.0.0.1:8080, for instance"
            self._problem(
                "--url", f"the address {what} is needed", given, allowed="http:// or https://", hint=hint
            )
            return ""
        return given

    def _scripts(self, compiled: CompiledWorkflow, part: Component | None) -> tuple[tuple[Script, ...], bool]:
        if part is None and self.options.component is not None:
            return (), False
        spec, path = self.workflow.spec, self.options.inputs
        check = compiled.components[part.name].input if part else compiled.input
        domains: tuple[CompiledDomain, ...] = () if part else compiled.input_domains
        key = self._key(compiled, part)
        if path is not None:
            lines = inputs.read(path, self.problems)
            inputs.check(lines, check, domains, path, self.problems)
            return inputs.scripts((value for _, value in lines), key), False
        schema = part.contract.input if part else spec.contract.input
        words = (
            () if part else tuple(one for one in spec.contract.semantics if one.field.startswith("input."))
        )
        made = inputs.made(schema, check, words)
        if not made:
            self.problems.append(inputs.no_inputs(part.name if part else self.workflow.metadata.name))
        return inputs.scripts(made, None), True

    def _key(self, compiled: CompiledWorkflow, part: Component | None) -> Compiled | None:
        text = self.options.session
        if text is None:
            return compiled.routing_key if part is None else None
        try:
            return compile_expression(text)
        except ExpressionError as error:
            self._problem("--session", error.message, text, hint=error.hint)
            return None

    def _target(
        self, compiled: CompiledWorkflow, part: Component | None, url: str, timeout: float
    ) -> target.Target:
        if part is None:
            meta = self.workflow.metadata
            if url.count("/") == 2 or (url.endswith("/") and url.count("/") == 3):
                url = f"{url.rstrip('/')}/v1/namespaces/{meta.namespace}/workflows/{meta.name}/runs"
            return target.workflow(url, compiled, meta.name)
        endpoint = part.endpoint.model_copy(update={"url": url, "service_ref": None})
        protocol = PROTOCOLS[endpoint.protocol](
            part, endpoint, Place(namespace=self.workflow.metadata.namespace)
        )
        return target.component(protocol, compiled, part.name, timeout)
