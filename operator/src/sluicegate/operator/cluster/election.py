"""Who leads: one Lease, compare-and-swap by resourceVersion, ages by the local clock only.

    follower ──Lease released, or unmoved or absent for its whole duration──► claim (PUT with the resourceVersion read)
       ▲                                                                        │ accepted
       └── another holder seen, or nothing written for `deadline` ◄── leader ◄──┘  (renews every `renew`)

Why never two may write: a leader's fence is open for `deadline` after the *start* of its last accepted write. Another
takes the Lease only when it saw it unmoved for `lease` > `deadline` by its own clock, counted from after it saw that
write. Between the two lie `lease - deadline` seconds for clocks of unequal speed and for requests on their way.
The functions are pure; `elector.Elector` is their shell.
"""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Final

from sluicegate.operator.ports import Json
from sluicegate.operator.resources.objects import stamp

NEVER: Final = float("-inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Seconds. renew < deadline < lease. request: of one call, so that several fit in the deadline. poll: between two
    reads of a follower. retry: after a renewal that failed.
    """

    lease: float = 15.0
    deadline: float = 10.0
    renew: float = 5.0
    request: float = 2.5
    poll: float = 2.0
    retry: float = 0.5

    @classmethod
    def of(cls, lease: float) -> "Terms":
        """The same proportions for another duration."""
        default = cls()
        scaled = {one.name: getattr(default, one.name) * lease / default.lease for one in fields(cls)}
        return cls(**scaled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Who asks: unique for each process."""

    identity: str
    namespace: str
    name: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class Term:
    """One leadership: from a claim until the Lease shows another."""

    identity: str
    epoch: int
    acquired: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What one candidate knows. seen: the Lease as last read or written; moved: when it was first seen so.

    term: the present leadership of this candidate, good until `until`. claim: a write whose answer did not come, and
    when it was started.
    """

    seen: Json | None = None
    moved: float = NEVER
    term: Term | None = None
    until: float = NEVER
    claim: tuple[Term, float] | None = None
    highest: int = 0  # epoch that was seen; a Lease that somebody deleted must not start again below it

    def leads(self, now: float) -> bool:
        """Whether the fence is open."""
        return self.term is not None and now < self.until


def read(state: State, lease: Json | None, now: float, candidate: Candidate) -> State:
    """The Lease was read (None: there is none); `now`: after the answer."""
    if lease is None:
        since = state.moved if state.seen is None and state.moved != NEVER else now
        return replace(state, seen=None, moved=since, term=None, until=NEVER)
    same = state.seen is not None and _version(state.seen) == _version(lease)
    shown = _term(lease)
    highest = max(state.highest, shown.epoch)
    state = replace(state, seen=lease, moved=state.moved if same else now, highest=highest)
    if state.term is not None and shown != state.term:
        state = replace(state, term=None, until=NEVER)
    if state.term is None and state.claim is not None and state.claim[0] == shown:
        return written(state, lease, started=state.claim[1], now=now, candidate=candidate)
    return state


def renewal(state: State, now: float, wall: datetime) -> Json | None:
    """The Lease as its leader writes it on; None: this candidate does not lead."""
    if not state.leads(now) or state.seen is None:
        return None
    return {**_bare(state.seen), "spec": {**state.seen["spec"], "renewTime": stamp(wall)}}


def claim(state: State, now: float, wall: datetime, candidate: Candidate) -> Json | None:
    """The Lease with a new term, when it may be claimed; without a resourceVersion it is to be created."""
    if not _free(state.seen, now - state.moved, candidate):
        return None
    base = _bare(state.seen) if state.seen else _new(candidate)
    spec = {
        "holderIdentity": candidate.identity,
        "leaseDurationSeconds": max(1, round(candidate.terms.lease)),
        "acquireTime": stamp(wall),
        "renewTime": stamp(wall),
        "leaseTransitions": state.highest + 1,  # also when the same candidate comes back
    }
    return {**base, "spec": spec}


def _free(lease: Json | None, unmoved: float, candidate: Candidate) -> bool:
    """Released, or its holder was silent for its own duration and for ours. So must be no Lease: it may have been
    deleted under a leader.
    """
    if lease is None:
        return unmoved >= candidate.terms.lease
    spec = lease.get("spec") or {}
    patience = max(candidate.terms.lease, float(spec.get("leaseDurationSeconds") or 0))
    return not spec.get("holderIdentity") or unmoved >= patience


def asked(state: State, lease: Json, started: float) -> State:
    """A claim is on its way: it may be granted even when no answer comes."""
    return replace(state, claim=(_term(lease), started))


def written(state: State, lease: Json, *, started: float, now: float, candidate: Candidate) -> State:
    """The write that was started at `started` is in the Lease."""
    term, until = _term(lease), max(state.until, started + candidate.terms.deadline)
    highest = max(state.highest, term.epoch)
    return replace(state, seen=lease, moved=now, term=term, until=until, claim=None, highest=highest)


def doubted(state: State, now: float) -> State:
    """A leadership whose time is over is no leadership, whatever the Lease says."""
    if state.term is None or state.leads(now):
        return state
    return replace(state, term=None, until=NEVER)


def released(state: State) -> Json | None:
    """The Lease given back, for when the work has stopped; None: it is not ours."""
    if state.term is None or state.seen is None:
        return None
    spec = {**state.seen["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
    return {**_bare(state.seen), "spec": spec}


def _version(lease: Json) -> str:
    return str(lease["metadata"].get("resourceVersion", ""))


def _term(lease: Json) -> Term:
    spec = lease.get("spec") or {}
    return Term(
        spec.get("holderIdentity") or "",
        int(spec.get("leaseTransitions") or 0),
        spec.get("acquireTime") or "",
    )


def _new(candidate: Candidate) -> Json:
    metadata = {"namespace": candidate.namespace, "name": candidate.name}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}


def _bare(lease: Json) -> Json:
    metadata = {key: value for key, value in lease["metadata"].items() if key != "managedFields"}
    return {**lease, "metadata": metadata}
