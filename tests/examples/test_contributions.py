"""The support bot's contributions, as its components were built: what the executor and the memory add to the reward."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from sluicegate.console.demo import files as demo_files
from sluicegate.console.traffic import Session, support_customers
from sluicegate.contracts.routes import Share, TrafficMode
from sluicegate.observability.contributions.cells import Cells
from sluicegate.observability.contributions.estimate import Contributions, estimate
from tests.examples.test_services import services
from tests.gateway.components import harness, rolling, serving

SORRY = "Sorry, please try again in a minute."


bot = services()


def reward(question: dict[str, str], running: frozenset[str]) -> float:
    """Of one question, straight from the components' functions."""
    known = bot.remember(question)["last_order"] if "memory" in running else ""
    plan = bot.planner(bot.PLAIN | bot.SUBTLE)
    planned = plan({"user_query": question["user_query"], "last_order": known})
    response = bot.execute(planned)["response"] if "executor" in running else SORRY
    return float(bot.judge({"user_query": question["user_query"], "response": response})["reward"])


def true_values(questions: list[dict[str, str]]) -> dict[str, float]:
    """Shapley's formula of two players, over many questions."""

    def value(*running: str) -> float:
        return sum(reward(one, frozenset(running)) for one in questions) / len(questions)

    none, memory, executor, both = value(), value("memory"), value("executor"), value("memory", "executor")
    return {
        "memory": (memory - none + both - executor) / 2,
        "executor": (executor - none + both - memory) / 2,
    }


async def measured(sessions: Iterator[Session], most: int) -> Contributions:
    acts: dict[str, Callable[[Any], Any]] = {name: one.act for name, one in bot.VERSIONS.items()}

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        name = "/".join(server.calls[-1].path.strip("/").split("/")[-2:])
        return {"status": "ok", "output": acts[name](body["input"])}

    async with serving(answer) as server:
        base = server.url.rpartition("/")[0]
        stable, good = demo_files.stable(base)["spec"], demo_files.candidate("good", base)["spec"]
        plan = rolling(stable, good, TrafficMode.MIRROR, ablation=Share(1, 1))
        async with harness(plan) as gate:
            for session in islice(sessions, most):
                await gate.run_whole(session.inputs[0])
            found = [line["ablation"] for line in gate.spool.of("obs")]
    cells = Cells(tuple(found[0]["coalition"]["players"]))
    for one in found:
        cells.add(one["coalition"]["mask"], one["reward"])
    return estimate(cells)


async def test_intervals_cover_what_the_bot_was_built_to_have() -> None:
    truth = true_values([session.inputs[0] for session in islice(support_customers(7), 5000)])
    assert truth["executor"] > 0.5  # who does not act helps nobody
    assert 0.0 <= truth["memory"] < 0.1  # most questions name their order
    found = await measured(support_customers(1), 160)
    assert {one.component for one in found.each} == {
        "memory",
        "executor",
    }  # without a plan there is no answer
    assert all(one.low <= truth[one.component] <= one.high for one in found.each), (truth, found)
    executor = next(one for one in found.each if one.component == "executor")
    assert executor.low > 0.4
    assert sum(one.value for one in found.each) == pytest.approx((found.reward or 0) - (found.floor or 0))
