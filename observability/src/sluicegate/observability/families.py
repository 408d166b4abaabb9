"""Prometheus metrics of the catalogue, and the series that each has shown."""

from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sluicegate.observability.catalog import Definition, Kind

_LARGEST: Final = 1e300


class Family:
    """One metric and the label values it has shown, so that they can be removed by their first labels."""

    def __init__(self, definition: Definition, registry: CollectorRegistry) -> None:
        self.definition = definition
        self._metric = _metric(definition, registry)
        self._children: dict[tuple[str, ...], Any] = {}

    def child(self, *values: str) -> Any:
        """The series with these label values; it begins now, a counter with 0."""
        child = self._children.get(values)
        if child is None:
            child = self._metric.labels(*values) if values else self._metric
            self._children[values] = child
        return child

    def count(self, *values: str, run: str | None = None) -> None:
        """One more."""
        self.child(*values).inc(1, _exemplar(run) if self.definition.exemplar else None)

    def observe(self, amount: float | None, *values: str, run: str | None = None) -> None:
        """One more value; None is no value."""
        if amount is not None:
            self.child(*values).observe(amount, _exemplar(run) if self.definition.exemplar else None)

    def forget(self, *first: str) -> None:
        """Remove every series that starts with these label values."""
        for values in [values for values in self._children if values[: len(first)] == first]:
            del self._children[values]
            self._metric.remove(*values)


def number(value: object) -> float | None:
    """A finite number; true and false are none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if abs(value) <= _LARGEST else None  # false for NaN


def amount(value: object) -> float | None:
    """A finite number that is not negative."""
    found = number(value)
    return None if found is None or found < 0.0 else found


def _metric(definition: Definition, registry: CollectorRegistry) -> Any:
    name, text, labels = definition.name, definition.help, definition.labels
    if definition.kind is Kind.HISTOGRAM:
        return Histogram(name, text, labels, buckets=definition.buckets, registry=registry)
    kinds = {Kind.COUNTER: Counter, Kind.GAUGE: Gauge}
    return kinds[definition.kind](name, text, labels, registry=registry)


def _exemplar(run: str | None) -> dict[str, str] | None:
    """OpenMetrics allows 128 characters of labels and values."""
    return {"run_id": run} if run and len(run) <= 64 else None
