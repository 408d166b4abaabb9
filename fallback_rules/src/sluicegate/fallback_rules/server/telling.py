"""Metrics of the rules server, in a registry of its own."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sluicegate.fallback_rules.server.shelf import Key, Shelf
from sluicegate.fallback_rules.table import Answered

_SECONDS = (0.00001, 0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.005, 0.01, 0.1)
_SET = ("namespace", "rule_set")


class Telling:
    """Label values come from files that serve; unknown names are counted without one."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._answers = Counter(
            "sluicegate_rules_answers",
            "Answers, by outcome: Rule, Default, or why there was none (Input, Guard, Formula, Contract, Conflict, Gap).",
            (*_SET, "outcome"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "sluicegate_rules_answer_seconds",
            "Time in the table, without HTTP.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._loaded = Gauge(
            "sluicegate_rules_loaded",
            "1 for the version of a rule set that answers.",
            (*_SET, "version", "digest"),
            registry=self.registry,
        )
        self._refused = Gauge(
            "sluicegate_rules_refused_files",
            "Files whose newest content is not used; earlier content of them goes on answering.",
            registry=self.registry,
        )
        self._unreadable = Gauge(
            "sluicegate_rules_folder_unreadable",
            "1 while the folder cannot be listed; what was read before goes on answering.",
            registry=self.registry,
        )
        self._unknown = Counter(
            "sluicegate_rules_unknown",
            "Requests for a rule set that is not here.",
            registry=self.registry,
        )
        self._shown: set[tuple[str, str, str, str]] = set()

    def answered(self, key: Key, told: Answered, seconds: float) -> None:
        """One answer, or none."""
        self._answers.labels(*key, outcome_of(told)).inc()
        self._seconds.observe(seconds)

    def unknown(self) -> None:
        """Asked for what is not here."""
        self._unknown.inc()

    def folder(self, *, readable: bool) -> None:
        """Whether it could be listed."""
        self._unreadable.set(not readable)

    def loaded(self, shelf: Shelf) -> None:
        """What serves from now on."""
        now = {(*key, one.version, one.table.digest) for key, one in shelf.sets.items()}
        for gone in self._shown - now:
            self._loaded.remove(*gone)
        for labels in now:
            self._loaded.labels(*labels).set(1)
        self._shown = now
        self._refused.set(len({problem.source for problem in shelf.problems}))


def outcome_of(told: Answered) -> str:
    """Rule, Default, or the cause."""
    if told.cause is not None:
        return told.cause.value
    return "Default" if told.is_default else "Rule"


def document_of(told: Answered) -> Mapping[str, object]:
    """As it goes over HTTP, without the rule set."""
    return {
        "answer": told.answer,
        "outcome": outcome_of(told),
        "rule": told.rule,
        "rules": list(told.rules),
        "reason": told.reason,
        "values": dict(told.values),
    }
