"""The plan table of a gateway pod, for the event loop: the API server's plans in, what the workers serve out."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_table import Broken
from sluicegate.operator.local.plans import PlanThread


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What living workers have. taken: the generation that all of them have taken; 0: one has not, or none lives."""

    workers: int = 0
    taken: int = 0
    broken: tuple[Broken, ...] = ()


class PlanBoard(PlanThread):
    """Writes give the generation that holds them; every worker that has taken it serves them."""

    async def adopt(self, plan: RoutePlan) -> int:
        """The plan of its workflow is this one."""
        return await self._thread.call(self._adopt, plan)

    async def adopt_all(self, plans: Iterable[RoutePlan], namespaces: tuple[str, ...] | None) -> int:
        """The plans of these namespaces (None: of all) are exactly these."""
        return await self._thread.call(self._adopt_all, tuple(plans), namespaces)

    async def drop(self, namespace: str, workflow: str) -> int:
        """The workflow is gone."""
        return await self._thread.call(self._drop, namespace, workflow)

    async def generation(self) -> int:
        """Of the present plans."""
        return await self._thread.call(self._table.generation)

    async def plans(self) -> tuple[RoutePlan, ...]:
        """As workers find them."""
        return await self._thread.call(self._table.read_all)

    async def standing(self) -> Standing:
        """What workers say."""
        return await self._thread.call(self._standing)

    def _adopt(self, plan: RoutePlan) -> int:
        self._table.adopt(plan)
        return self._table.generation()

    def _adopt_all(self, plans: tuple[RoutePlan, ...], namespaces: tuple[str, ...] | None) -> int:
        self._table.adopt_all(plans, namespaces=namespaces)
        return self._table.generation()

    def _drop(self, namespace: str, workflow: str) -> int:
        self._table.delete(namespace, workflow)
        return self._table.generation()

    def _standing(self) -> Standing:
        alive = self._alive()
        taken = self._table.taken(workers=alive)
        return Standing(workers=len(alive), taken=taken, broken=self._table.broken())


@dataclass(slots=True)
class Applied:
    """Up to which resourceVersion each scope is served: written first, then taken by every worker. Pure."""

    done: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def written(self, scope: str, revision: int, generation: int) -> None:
        """Everything of `scope` up to `revision` is in the table as of `generation`."""
        waiting = self._waiting.setdefault(scope, [])
        if waiting and waiting[-1][0] == generation:
            waiting.pop()
        waiting.append((generation, revision))

    def taken(self, generation: int) -> None:
        """Every living worker has taken `generation`; 0: not all have."""
        for scope, waiting in self._waiting.items():
            while waiting and 0 < waiting[0][0] <= generation:
                self.done[scope] = max(self.done.get(scope, 0), waiting.pop(0)[1])

    def is_waiting(self) -> bool:
        """Something is written and not yet taken."""
        return any(self._waiting.values())
