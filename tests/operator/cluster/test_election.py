"""Two leaders never: in simulated hours with delays, lost answers and stopped processes, and on a real API server.

The expectations are those of a lease as Gray and Cheriton give them (Leases, SOSP 1989, §2): the holder counts from
before its request, the server's side from after it, and the difference is the allowance for clocks.
"""

import asyncio
import random  # noqa: TID251 - seeded
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from sluicegate.contracts.errors import Conflict, NotFound, Unavailable
from sluicegate.operator.cluster.election import Candidate, Terms
from sluicegate.operator.cluster.elector import Elector, Stuck, Work
from sluicegate.operator.cluster.kube import connect
from sluicegate.operator.cluster.kube_access import KubeConfig
from sluicegate.operator.cluster.ports import Api
from sluicegate.operator.process import Uncounted
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster import virtual_time

TERMS = Terms()


def now() -> float:
    return asyncio.get_running_loop().time()


def released() -> dict[str, Any]:
    return {
        "metadata": {"namespace": "s", "name": "l", "resourceVersion": "0"},
        "spec": {"holderIdentity": ""},
    }


@dataclass
class Lease:
    """The Lease as etcd would hold it; at first released."""

    held: dict[str, Any] | None = field(default_factory=released)
    version: int = 0

    def put(self, item: dict[str, Any]) -> dict[str, Any]:
        wanted = item["metadata"].get("resourceVersion")
        current = str(self.version) if self.held else None
        if wanted != current:
            raise Conflict(f"{wanted} is not {current}")
        self.version += 1
        self.held = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        return self.held


@dataclass
class Network:
    """The way of one process to the Lease. Hurt by `chance`: slow, cut before or after the server did its part."""

    lease: Lease
    dice: random.Random = field(default_factory=lambda: random.Random(0))
    chance: float = 0.0
    stopped_until: float = 0.0
    is_cut: bool = False
    calls: int = 0

    async def get(self, api: Api, namespace: str | None, name: str) -> dict[str, Any]:
        return await self._call(self._held)

    async def create(self, api: Api, item: dict[str, Any], *, manager: str) -> dict[str, Any]:
        return await self._call(lambda: self.lease.put(item))

    async def replace(self, api: Api, item: dict[str, Any], *, manager: str) -> dict[str, Any]:
        return await self._call(lambda: self.lease.put(item))

    def _held(self) -> dict[str, Any]:
        if self.lease.held is None:
            raise NotFound("no Lease")
        return self.lease.held

    async def _call(self, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The request goes on by itself when its caller gave up, as on a wire."""
        self.calls += 1
        return await asyncio.shield(asyncio.ensure_future(self._wire(act)))

    async def _wire(self, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        await asyncio.sleep(self._delay())
        if self.is_cut or self.dice.random() < self.chance / 2:
            raise Unavailable("cut before the server")
        answer = act()
        await asyncio.sleep(self._delay())
        await asyncio.sleep(
            max(0.0, self.stopped_until - now())
        )  # the process does not see the answer before
        if self.is_cut or self.dice.random() < self.chance / 2:
            raise Unavailable("cut after the server")
        return answer

    def _delay(self) -> float:
        if self.dice.random() < self.chance:
            return self.dice.choice((0.5, 2.0, 6.0, 30.0))
        return 0.002 + self.dice.random() * 0.01


@dataclass
class Replica:
    """One process: its elector, its clock of another speed, the work it does as leader."""

    name: str
    network: Network
    pace: float = 1.0
    replicas: list["Replica"] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    working: bool = False
    slow_stop: float = 0.0

    def __post_init__(self) -> None:
        candidate = Candidate(identity=self.name, namespace="s", name="l", terms=TERMS)
        self.elector = Elector(self.network, candidate, monotonic=self.clock)  # type: ignore[arg-type]

    def clock(self) -> float:
        return 5000.0 + now() * self.pace

    def is_open(self) -> int | None:
        try:
            return self.elector.epoch()
        except Unavailable:
            return None

    async def work(self) -> None:
        self.working = True
        epoch = self.is_open()
        assert epoch is not None
        self.epochs.append(epoch)
        try:
            while True:
                open_now = [one.name for one in self.replicas if one.is_open() is not None]
                assert len(open_now) <= 1, f"at {now():.1f} s two may write: {open_now}"
                await asyncio.sleep(1.0)
        finally:
            self.working = False

    async def run(self) -> None:
        await self.elector.run(Work(run=self.work, floor=self.shown))

    def shown(self) -> int:
        """The highest epoch that the leaders left in statuses."""
        return max((epoch for one in self.replicas for epoch in one.epochs), default=0)


@asynccontextmanager
async def running(*replicas: Replica) -> AsyncIterator[list[asyncio.Task[None]]]:
    for one in replicas:
        one.replicas = list(replicas)
    tasks = [asyncio.ensure_future(one.run()) for one in replicas]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result


async def until(what: str, condition: Callable[[], Any], seconds: float) -> float:
    """How long it took, in virtual seconds."""
    began = now()
    while not condition():
        assert now() - began <= seconds, f"not in {seconds:g} s: {what}"
        await asyncio.sleep(0.05)
    return now() - began


@pytest.mark.parametrize("seed", range(24))
def test_never_two_may_write_whatever_the_network_and_the_processes_do(seed: int) -> None:
    dice = random.Random(seed)
    lease = Lease()

    async def story() -> None:
        replicas = [
            Replica(
                name,
                Network(lease, random.Random(f"{seed}{name}"), chance=dice.choice((0.02, 0.1, 0.3))),
                pace=dice.uniform(0.98, 1.02),
            )
            for name in ("one", "two", "three")[: 2 + seed % 2]
        ]
        async with running(*replicas) as tasks:
            for _ in range(60):
                hurt = dice.choice(replicas)
                match dice.choice(("stop", "cut", "nothing", "delete", "edit")):
                    case "stop":
                        hurt.network.stopped_until = now() + dice.uniform(1.0, 60.0)
                    case "cut":
                        hurt.network.is_cut = True
                    case "edit" if lease.held is not None:  # somebody labels the Lease
                        lease.put({**lease.held})
                    case "delete" if dice.random() < 0.1:
                        lease.held = None
                await asyncio.sleep(dice.uniform(0.0, 40.0))
                hurt.network.is_cut = False
                assert not any(task.done() for task in tasks), [task for task in tasks if task.done()]
        epochs = [epoch for one in replicas for epoch in one.epochs]
        assert len(epochs) == len(set(epochs)), "an epoch belongs to one leadership"
        assert all(one.epochs == sorted(one.epochs) for one in replicas), "epochs of a process grow"
        assert epochs, "nobody ever led"

    virtual_time.run(story())


def test_a_leader_that_dies_is_followed_within_lease_and_renewal() -> None:
    lease = Lease()

    async def story() -> None:
        one, two = Replica("one", Network(lease)), Replica("two", Network(lease))
        async with running(one) as tasks:
            await until("one leads", lambda: one.working, 5.0)
            two.replicas = [one, two]
            second = asyncio.ensure_future(two.run())
            await asyncio.sleep(60.0)
            assert not two.working, "the first is alive and renews"
            one.network.is_cut = True
            one.network.stopped_until = now() + 1e6
            tasks[0].cancel()
            took = await until("two leads", lambda: two.working, TERMS.lease + TERMS.renew)
            assert took > TERMS.lease - TERMS.renew
            assert two.epochs[0] > one.epochs[0]
            second.cancel()

    virtual_time.run(story())


def test_the_work_is_cancelled_before_anybody_else_may_lead() -> None:
    lease = Lease()

    async def story() -> None:
        one, two = Replica("one", Network(lease)), Replica("two", Network(lease))
        async with running(one, two):
            await until("one of them leads", lambda: one.working or two.working, 5.0)
            leader, other = (one, two) if one.working else (two, one)
            leader.network.is_cut = True
            took = await until("the cut leader stops", lambda: not leader.working, TERMS.deadline + 0.2)
            assert not other.working
            assert took >= TERMS.deadline - TERMS.renew
            left = TERMS.lease + TERMS.renew - TERMS.deadline
            await until("the other leads", lambda: other.working, left)
            assert not leader.working

    virtual_time.run(story())


def test_a_released_lease_is_taken_at_once() -> None:
    lease = Lease()

    async def story() -> None:
        one, two = Replica("one", Network(lease)), Replica("two", Network(lease))
        async with running(one) as tasks:
            await until("one leads", lambda: one.working, 5.0)
            second = asyncio.ensure_future(two.run())
            await asyncio.sleep(10.0)
            tasks[0].cancel()
            await asyncio.wait(tasks)
            assert one.is_open() is not None, "until it is released nobody else may write"
            await one.elector.release()
            assert one.is_open() is None
            await until("two leads", lambda: two.working, 2 * TERMS.poll)
            assert two.epochs == [one.epochs[0] + 1]
            second.cancel()

    virtual_time.run(story())


def test_a_claim_whose_answer_was_lost_is_recognised() -> None:
    lease = Lease()

    async def story() -> None:
        one = Replica("one", Network(lease))
        one.network.dice = random.Random(1)
        put, lost = lease.put, [True]

        def losing(item: dict[str, Any]) -> dict[str, Any]:
            stored = put(item)
            if lost.pop() if lost else False:
                raise Unavailable("the answer is lost")
            return stored

        lease.put = losing  # type: ignore[method-assign]
        async with running(one):
            await until("it leads by the claim that the Lease shows", lambda: one.working, 3 * TERMS.poll)
            assert one.epochs == [1]

    virtual_time.run(story())


def test_a_deleted_lease_does_not_start_again_below_the_epochs_in_use() -> None:
    lease = Lease()

    async def story() -> None:
        one = Replica("one", Network(lease))
        work = Work(run=one.work, floor=lambda: 41)
        one.replicas = [one]
        task = asyncio.ensure_future(one.elector.run(work))
        await until("it leads", lambda: one.working, 5.0)
        assert one.epochs == [42]
        lease.held = None
        took = await until("it leads again", lambda: len(one.epochs) == 2, TERMS.lease + TERMS.deadline)
        assert took > TERMS.lease, "somebody else may still believe to lead"
        assert one.epochs == [42, 43]
        task.cancel()

    virtual_time.run(story())


def test_work_that_does_not_stop_ends_the_process() -> None:
    lease = Lease()

    async def story() -> None:
        one = Replica("one", Network(lease))
        stop = asyncio.Event()

        async def deaf() -> None:
            while not stop.is_set():
                try:
                    await stop.wait()
                except asyncio.CancelledError:
                    continue

        task = asyncio.ensure_future(one.elector.run(Work(run=deaf, stop_seconds=3.0)))
        await until("it leads", lambda: one.is_open() is not None, 5.0)
        one.network.is_cut = True
        with pytest.raises(Stuck):
            await task
        stop.set()
        await asyncio.sleep(0)

    virtual_time.run(story())


def test_a_crash_of_the_work_is_a_crash_of_the_process() -> None:
    lease = Lease()

    async def story() -> None:
        async def crash() -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await Replica("one", Network(lease)).elector.run(Work(run=crash))

    virtual_time.run(story())


@pytest.mark.cluster
async def test_on_a_real_api_server_one_leads_and_the_other_follows(installed: ControlPlane) -> None:
    """Epochs go up in leaseTransitions; a release hands over; whoever edits the Lease disturbs nobody."""
    installed.kubectl("create", "namespace", "election", check=False)
    metadata = {"name": "leader", "namespace": "election"}
    installed.apply(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}}
    )
    terms = Terms.of(6.0)
    works: dict[str, list[int]] = {"one": [], "two": []}
    async with connect(KubeConfig(kubeconfig=installed.kubeconfig()), Uncounted()) as api:
        electors = {
            name: Elector(api, Candidate(identity=name, namespace="election", name="leader", terms=terms))
            for name in works
        }

        async def work(name: str) -> None:
            works[name].append(electors[name].epoch())
            await asyncio.Event().wait()

        def begun(name: str) -> asyncio.Task[None]:
            return asyncio.ensure_future(electors[name].run(Work(run=lambda: work(name))))

        tasks = {name: begun(name) for name in works}
        await until("one of them leads", lambda: any(works.values()), 60.0)
        leader = next(name for name, epochs in works.items() if epochs)
        other = "two" if leader == "one" else "one"
        before = installed.get("lease", "leader", "-n", "election")
        assert before["spec"]["holderIdentity"] == leader
        assert before["spec"]["leaseTransitions"] == works[leader][0] == 1
        installed.kubectl("label", "lease", "leader", "-n", "election", "edited=yes")
        await until("a renewal after the edit", lambda: _renewed(installed, before), 60.0)
        assert not works[other]
        tasks[leader].cancel()
        await asyncio.wait({tasks[leader]})
        await electors[leader].release()
        await until("the other leads", lambda: works[other], 60.0)
        assert works[other] == [2]
        with pytest.raises(Unavailable):
            electors[leader].epoch()
        tasks[other].cancel()
        await asyncio.wait({tasks[other]})


def _renewed(plane: ControlPlane, before: dict[str, Any]) -> bool:
    held = plane.get("lease", "leader", "-n", "election")
    return held["spec"]["renewTime"] != before["spec"]["renewTime"] and "edited" in held["metadata"]["labels"]
