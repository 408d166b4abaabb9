"""The watch over a version that serves: what is asked for, and what is found."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.sla import Promise
from sluicegate.contracts.stages import Signal, Stage, Verdict

_PREFIX = "watch"


class Watched(NamedTuple):
    """One version of a workflow: everything that it served, in whichever arm."""

    namespace: str
    workflow: str
    revision: str

    @property
    def key(self) -> EvidenceKey:
        """Where its units are kept, beside those of rollouts, whose keys are uids."""
        return EvidenceKey("/".join((_PREFIX, *self)), Stage.FULL, 0)


def is_watch(key: EvidenceKey) -> bool:
    """Whether units of this key belong to no rollout."""
    return key.rollout.startswith(f"{_PREFIX}/")


class WatchedOutput(NamedTuple):
    """A field of a component's output that its contract bounds. numeric: it holds numbers."""

    component: str
    output: str
    numeric: bool

    @property
    def key(self) -> str:
        """As in ArmFacts."""
        return f"{self.component}.{self.output}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLook:
    """What is asked; see `resources.watch.Watch`. Another of anything is another watch, with a baseline of its own.

    since: units before it belong to an earlier object of the same name. outputs: whose values are followed;
    drift_tolerance: by how much a share may move. promises: of the version's SLA; another promise is judged anew, and the rest of
    the watch goes on.
    """

    watched: Watched
    components: tuple[str, ...]
    false_alarm_every: int
    tolerance: float
    baseline_units: int
    baseline: int = 1
    since: datetime | None = None
    outputs: tuple[WatchedOutput, ...] = ()
    drift_tolerance: float = 0.05
    promises: tuple[Promise, ...] = ()

    @property
    def name(self) -> str:
        """Of the baseline: the version, and which of its baselines."""
        return f"{self.watched.revision}@{self.baseline}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Decay was shown, and stays so for this watch.

    before: mean of the baseline; after: mean of the last `units` values, since `since`, when the change is estimated to
    have begun (after and since are estimates, the alarm is not). at: of the unit that gave the alarm; run: its first run.
    """

    before: float
    after: float
    units: int
    since: datetime
    at: datetime
    run: str

    def of_rest(self) -> "Alarm":
        """The same of a share, told of the share of all others."""
        return replace(self, before=1.0 - self.before, after=1.0 - self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedSignal:
    """One signal: the reward, or a component's fallback rate.

    units: values folded. gap: units since the last value. baseline: mean of the first units, None while they are
    counted. limit: mean at which decay begins (tolerance and the baseline's own uncertainty included). log_e: of the
    detector, natural log; an alarm at `threshold`.
    """

    signal: Signal
    component: str | None = None
    units: int = 0
    gap: int = 0
    baseline: float | None = None
    limit: float | None = None
    log_e: float = 0.0
    threshold: float = 0.0
    alarm: Alarm | None = None


class MovedOutput(NamedTuple):
    """The value, or the border, whose share moved; before and after are shares."""

    value: str
    alarm: Alarm


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedField:
    """One output beside its frozen baseline.

    units: that gave the field; gap: units since the last of them. baseline: (value, share) of the first units, empty while
    they are counted; of numbers the shares above each border. log_e: of the detector that is nearest to its alarm, at
    `threshold`. unseen: (value, first run) of values that no unit of the baseline gave, at most 8.
    """

    field: WatchedOutput
    units: int = 0
    gap: int = 0
    baseline: tuple[tuple[str, float], ...] = ()
    log_e: float = 0.0
    threshold: float = 0.0
    moved: MovedOutput | None = None
    unseen: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPromise:
    """One promise of the SLA, beside what was served.

    standing: Fail once it was shown to be broken, Pass once it was shown to be kept; the last of the two counts. units: that said
    something of it; gap: units since the last of them. breach, kept: when that was shown last; before is the promised share of
    bad units, after the share seen.
    """

    promise: Promise
    standing: Verdict
    units: int = 0
    gap: int = 0
    breach: Alarm | None = None
    kept: Alarm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvidence:
    """The watch as folded up to `cursor`."""

    look: WatchLook
    cursor: int = 0
    units: int = 0
    signals: tuple[WatchedSignal, ...] = ()
    outputs: tuple[WatchedField, ...] = ()
    promises: tuple[WatchedPromise, ...] = ()
