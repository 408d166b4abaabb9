"""Retry budgets and breakers by destination. Serving calls and mirrors have one each and never share."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sluicegate.contracts.resources.workflow import CircuitBreaker
from sluicegate.gateway.resilience.breaker import Breaker
from sluicegate.gateway.resilience.budget import RetryBudget


def origin(url: str) -> str:
    """Scheme, host and port: what a retry budget is for."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


@dataclass(slots=True)
class Destinations:
    """State of all destinations of one kind of traffic in one worker."""

    budgets: dict[str, RetryBudget] = field(default_factory=dict)
    breakers: dict[tuple[str, str, str], Breaker] = field(default_factory=dict)

    def budget(self, destination: str) -> RetryBudget:
        """The budget of a destination."""
        found = self.budgets.get(destination)
        if found is None:
            found = self.budgets[destination] = RetryBudget()
        return found

    def breaker(self, key: tuple[str, str, str], spec: CircuitBreaker) -> Breaker:
        """The breaker of (destination, component, version); other settings make a new one."""
        found = self.breakers.get(key)
        settings = (float(spec.failure_rate), spec.min_calls, float(spec.open_seconds))
        if found is None or (found.failure_rate, found.min_calls, found.open_seconds) != settings:
            rate, calls, seconds = settings
            found = self.breakers[key] = Breaker(failure_rate=rate, min_calls=calls, open_seconds=seconds)
        return found
