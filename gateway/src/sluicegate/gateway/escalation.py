"""When rules of business answer instead of the workflow: a pure state machine, (state, event, now) -> (state, answer).

There is one track of each session and one of each version as a whole. A track is off while the workflow answers. Failures
switch it on: of a session so many in a row, of the version so many within a window. While it is on, runs are diverted to
the rules, but for probes; so many good probes in a row switch it off, and one that fails begins their count anew.

A track stays on for at least `recover` times `probe_seconds`, unless nothing comes for an hour: it switches at most
twice in that time. `now` is Unix seconds, shared by processes and kept over restarts; a clock that was set back by a
probe's period or more makes one due, by less it delays one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final, NamedTuple

from sluicegate.contracts.resources.escalation import BusinessFallback
from sluicegate.contracts.runs import Trigger

SLOTS: Final = 10
"""Parts of a window that are counted apart; it forgets one of them at a time."""
FORGET_SECONDS: Final = 3600.0
"""A session that was silent for so long has no failures in a row any more, and a track that was is off."""


class Count(NamedTuple):
    """Runs that ended in one part of a window. slot: its number since the epoch."""

    slot: int
    failed: int
    ran: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`spec.businessFallback` as numbers. Times in seconds."""

    in_a_row: int
    window_seconds: float
    window_failures: int
    window_rate: float
    probe_seconds: float
    probe_runs: int
    recover: int

    def slot(self, now: float) -> int:
        """The part of the window that `now` lies in."""
        return int(now * SLOTS // self.window_seconds)


def settings_of(spec: BusinessFallback) -> Settings:
    """The settings of a workflow."""
    return Settings(
        in_a_row=spec.after_consecutive_failures,
        window_seconds=float(spec.window.seconds),
        window_failures=spec.window.failures,
        window_rate=float(spec.window.failure_rate),
        probe_seconds=float(spec.probe.every_seconds),
        probe_runs=spec.probe.every_runs,
        recover=spec.probe.successes_to_recover,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """Where a session, or a version, stands.

    since: when it was switched on; 0: it is off. failed: runs in a row that failed, while off. good: probes in a row that
    succeeded. probed: when the last probe went, or when it was switched on. between: runs diverted since. counts: of the
    window, oldest first. at: the last event.
    """

    since: float = 0.0
    failed: int = 0
    good: int = 0
    probed: float = 0.0
    between: int = 0
    counts: tuple[Count, ...] = ()
    at: float = 0.0

    @property
    def is_on(self) -> bool:
        """Rules answer."""
        return self.since > 0.0

    @property
    def is_clean(self) -> bool:
        """Nothing is held against it."""
        return not (self.is_on or self.failed or self.counts)


OFF: Final = Track()


@dataclass(frozen=True, slots=True)
class Tracks:
    """What one run depends on."""

    version: Track = OFF
    session: Track = OFF

    @property
    def trigger(self) -> Trigger | None:
        """Which of them is on; the version's first."""
        if self.version.is_on:
            return Trigger.WORKFLOW
        return Trigger.SESSION if self.session.is_on else None


class Way(Enum):
    """What happens to a run that arrives."""

    RUN = auto()
    PROBE = auto()
    DIVERT = auto()


class Probe(NamedTuple):
    """Which periods a probe may end: `Track.since` of both tracks when it went."""

    version: float
    session: float


class Decision(NamedTuple):
    """trigger: of PROBE and DIVERT."""

    way: Way
    trigger: Trigger | None = None
    probe: Probe | None = None


RUN: Final = Decision(Way.RUN)


@dataclass(frozen=True, slots=True)
class Ended:
    """A run of the workflow ended. probe: as decided when it arrived. others: runs of this version that succeeded and were not told.

    A track that holds no failure holds nothing, so that what succeeds need not be told at once.
    """

    failed: bool
    probe: Probe | None = None
    others: tuple[Count, ...] = ()


def arrive(tracks: Tracks, settings: Settings, now: float) -> tuple[Tracks, Decision]:
    """Whether a run goes through the workflow. The version's track speaks first.

    `probe_runs` holds for the version: one session alone has too few runs to wait for so many.
    """
    tracks = Tracks(*(_unless_silent(one, settings, now) for one in (tracks.version, tracks.session)))
    trigger = tracks.trigger
    if trigger is None:
        return tracks, RUN
    is_version = trigger is Trigger.WORKFLOW
    track = tracks.version if is_version else tracks.session
    every = settings.probe_runs if is_version else 1
    # abs: `now` was taken before the turn to write came, so that another worker's probe may look later.
    is_due = abs(now - track.probed) >= settings.probe_seconds
    if is_due and track.between >= every - 1:
        track = replace(track, probed=now, between=0, at=now)
        decision = Decision(Way.PROBE, trigger, Probe(tracks.version.since, tracks.session.since))
    else:
        if every > 1:
            track = replace(track, between=track.between + 1, at=now)
        decision = Decision(Way.DIVERT, trigger)
    return (replace(tracks, version=track) if is_version else replace(tracks, session=track)), decision


def _unless_silent(track: Track, settings: Settings, now: float) -> Track:
    """Off when nothing came for FORGET_SECONDS: what comes later than `probe_seconds` after the last event would be one."""
    is_silent = now - track.at > settings.probe_seconds + FORGET_SECONDS
    return replace(OFF, at=now) if track.is_on and is_silent else track


def end(tracks: Tracks, settings: Settings, ended: Ended, now: float) -> tuple[Tracks, Trigger | None]:
    """Count how a run ended. The trigger, when it failed and rules answer its user: the N-th failure's already."""
    probe = ended.probe or Probe(0.0, 0.0)
    if tracks.session.is_on:
        session = _probed(tracks.session, settings, ended.failed, probe.session, now)
    else:
        session = _in_a_row(tracks.session, settings, ended.failed, now)
    if tracks.version.is_on:
        version = _probed(tracks.version, settings, ended.failed, probe.version, now)
    else:
        version = _in_window(tracks.version, settings, ended, now)
    after = Tracks(version, session)
    return after, after.trigger if ended.failed else None


def _probed(track: Track, settings: Settings, failed: bool, since: float, now: float) -> Track:
    """A run ended while the track is on. One that is no probe of this very period began before it, and says nothing."""
    if since != track.since:
        return track
    if failed:
        return replace(track, good=0, at=now)
    if track.good + 1 >= settings.recover:
        return replace(OFF, at=now)
    return replace(track, good=track.good + 1, at=now)


def _in_a_row(track: Track, settings: Settings, failed: bool, now: float) -> Track:
    if not failed:
        return OFF if track is OFF else replace(OFF, at=now)
    before = track.failed if now - track.at <= FORGET_SECONDS else 0
    if before + 1 >= settings.in_a_row:
        return _on(now)
    return replace(track, failed=before + 1, at=now)


def _in_window(track: Track, settings: Settings, ended: Ended, now: float) -> Track:
    slot = settings.slot(now)
    own = Count(slot, int(ended.failed), 1)
    counts = _merged((*track.counts, *ended.others, own), slot)
    failed, ran = sum(one.failed for one in counts), sum(one.ran for one in counts)
    if ended.failed and failed >= settings.window_failures and failed >= settings.window_rate * ran:
        return _on(now)
    return replace(OFF, counts=counts, at=now) if failed else OFF


def _on(now: float) -> Track:
    return Track(since=now, probed=now, at=now)


def _merged(counts: Iterable[Count], latest: int) -> tuple[Count, ...]:
    """By slot, without those that the window has left. The next one is a worker's that was here first; later ones are another clock's."""
    found: dict[int, Count] = {}
    for slot, failed, ran in counts:
        if latest - SLOTS < slot <= latest + 1:
            held = found.get(slot, Count(slot, 0, 0))
            found[slot] = Count(slot, held.failed + failed, held.ran + ran)
    return tuple(found[slot] for slot in sorted(found))
