"""The operator on a real control plane: `python -m benchmarks.operator [--workflows N…] [--rest SECONDS] [--readme]`.

Operator, gateway and lineage run as their own processes with their least-privileged accounts; what is counted comes from
the API server's audit log and from /proc. Prints a table and writes results/operator.json.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil

from benchmarks.run import HERE, conditions, publish, section
from tests.charts import installation as chart
from tests.cluster.client import Client, Json
from tests.cluster.product import OPERATOR, Place, Product
from tests.controlplane import binaries, installation
from tests.controlplane.audit import Entry
from tests.controlplane.plane import ControlPlane
from tests.operator.samples import staged
from tests.operator.up import component_server, until

READS = {"get", "list", "watch"}
ROLLOUTS = 100
NEVER = 1_000_000
NAMESPACE = "bench"
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def measure(count: int, rest: float, churn: int) -> Json:
    """Everything about `count` workflows, on a fresh control plane."""
    with _cluster() as (product, url):
        base = _memory(product)
        started = time.monotonic()
        _create(product, url, count)
        _settled(product, count)
        created = time.monotonic() - started
        warm = _restart(product, count)
        return {
            "workflows": count,
            "rss_mb_empty": base,
            "create_to_ready_s": round(created, 1),
            "restart_to_warm_s": round(warm, 1),
            "rss_mb_warm": _memory(product),
            "calls_per_rollout": _calls_of_a_rollout(product, url),
            **_aborts(product, url),
            **_churn(product, url, churn),
            **_rest(product, rest),
        }


@contextmanager
def _cluster() -> Iterator[tuple[Product, str]]:
    found = binaries.find()
    if isinstance(found, binaries.Existing):
        raise SystemExit(
            "this benchmark counts in the audit log of its own control plane: unset USE_EXISTING_CLUSTER"
        )
    with ControlPlane(found) as plane, component_server() as url, tempfile.TemporaryDirectory() as folder:
        installation.install(plane)
        chart.install(plane, (*chart.ROLES, *chart.POLICIES, *WEBHOOKS))
        plane.kubectl("create", "namespace", NAMESPACE)
        for role in ("view", "edit"):
            plane.allow("group:team", f"sluicegate-{role}", NAMESPACE)
        for role in ("view", "promoter", "aborter"):
            plane.allow("group:board", f"sluicegate-{role}", NAMESPACE)
        product = Product(plane, Path(folder) / "p", lease_seconds=15)
        try:
            product.start()
            yield product, url
        finally:
            product.kill()


def _operator(product: Product) -> psutil.Process:
    running = product.operators[0].running
    assert running is not None
    return psutil.Process(running.pid)


def _memory(product: Product) -> float:
    return round(_operator(product).memory_info().rss / 1e6, 1)


def _item(url: str, name: str, version: str, **needs: int) -> Json:
    item = staged(
        version, url, needs=needs or dict.fromkeys(("Canary", "Shadow", "Controlled", "Full"), NEVER)
    )
    item["metadata"] |= {"namespace": NAMESPACE, "name": name}
    return item


def _create(product: Product, url: str, count: int, prefix: str = "w") -> None:
    team = Client(product.plane, "carol")
    team.objects("agentworkflows", NAMESPACE)  # its certificate is made once, not by four threads

    def some(part: int) -> None:
        for number in range(part, count, 4):
            code, said = team.create("agentworkflows", _item(url, f"{prefix}-{number}", "1.0.0"))
            assert code == 201, said

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(some, range(4)))


def _ready(product: Product) -> int:
    found = product.admin.objects("agentworkflows", NAMESPACE)
    return sum(
        any(
            (one["type"], one["status"]) == ("Ready", "True")
            for one in (item.get("status") or {}).get("conditions", [])
        )
        for item in found
    )


def _settled(product: Product, count: int) -> None:
    until(f"{count} workflows are served", lambda: _seldom(partial(_ready, product)) >= count, 3600)


def _seldom(look: Callable[[], float], least: float = 2.0) -> float:
    """A look costs those who are measured too: they have ten times as long to themselves after it, and `least` seconds."""
    started = time.monotonic()
    found = look()
    time.sleep(max(least, 10 * (time.monotonic() - started)))
    return found


def _restart(product: Product, count: int) -> float:
    """From the start to every workflow looked at once."""
    operator = product.operators[0]
    operator.stop()
    started = time.monotonic()
    operator.start()
    until("all are looked at", lambda: _seldom(partial(_looks, product), 0.2) >= count, 900)
    return time.monotonic() - started


def _looks(product: Product) -> float:
    """Looks at workflows since the start."""
    total = 0.0
    for line in product.metrics().splitlines():
        if line.startswith("sluicegate_reconcile_seconds_count") and 'kind="AgentWorkflow"' in line:
            total += float(line.rsplit(" ", 1)[1])
    return total


def _by_operator(product: Product, after: int) -> list[Entry]:
    return [one for one in product.plane.audit(after) if one.user == OPERATOR]


def _rest(product: Product, seconds: float) -> Json:
    """Nothing happens for a while."""
    time.sleep(20)  # let what a start does come to its end
    after, process = product.plane.audit_position(), _operator(product)
    cpu = process.cpu_times()
    time.sleep(seconds)
    now = process.cpu_times()
    writes = [one for one in _by_operator(product, after) if one.verb not in READS]
    leases = [one for one in writes if one.resource == "leases"]
    return {
        "rest_s": seconds,
        "writes_at_rest": len(writes) - len(leases),
        "lease_renewals_at_rest": len(leases),
        "reads_at_rest": len(_by_operator(product, after)) - len(writes),
        "cpu_percent_at_rest": round(100 * (now.user + now.system - cpu.user - cpu.system) / seconds, 2),
        "rss_mb": _memory(product),
    }


def _calls_of_a_rollout(product: Product, url: str) -> Json:
    """Canary to promoted, four stages of 20 runs."""
    place = Place(product, NAMESPACE, "w-0")
    after = product.plane.audit_position()
    needs = dict.fromkeys(("Canary", "Shadow", "Controlled", "Full"), 20)
    started = time.monotonic()
    place.apply(_item(url, place.name, "2.0.0", **needs))
    place.reach("Done", "2.0.0")
    seconds = time.monotonic() - started
    time.sleep(1)
    entries = [
        one for one in _by_operator(product, after) if one.resource != "leases" and one.verb != "watch"
    ]
    counted = Counter(
        f"{one.verb} {one.resource}{'/' + one.subresource if one.subresource else ''}" for one in entries
    )
    return {"seconds": round(seconds, 1), "all": len(entries), **dict(sorted(counted.items()))}


def _aborts(product: Product, url: str) -> Json:
    """From the answer to the abort to the first run of a user of the candidate that stable answers."""
    names = [f"w-{number}" for number in range(1, ROLLOUTS + 1)]
    for name in names:
        item = _item(url, name, "2.0.0")
        strategy = item["spec"]["rollout"]
        del strategy["evaluationIntervalSeconds"]  # the default, 10 s
        strategy["skipStages"] = ["Canary", "Shadow"]
        strategy["stages"] = [one for one in strategy["stages"] if one["name"] not in strategy["skipStages"]]
        strategy["stages"][0]["share"] = {"numerator": 99, "denominator": 100}
        Client(product.plane, "carol").replace("agentworkflows", item)
    places = [Place(product, NAMESPACE, name) for name in names]
    for place in places:
        until("the candidate answers", partial(_of_candidate, place), 300)
    product.plane.tls("bob")  # made once, not by both threads
    with ThreadPoolExecutor(2) as pool:
        waits = sorted(pool.map(_abort, places))
    return {
        "rollouts_running": len(waits),
        "abort_p50_ms": round(1000 * statistics.median(waits), 1),
        "abort_p99_ms": round(1000 * waits[int(0.99 * len(waits)) - 1], 1),
        "abort_max_ms": round(1000 * waits[-1], 1),
    }


def _of_candidate(place: Place) -> str | None:
    """A user whom the candidate answers."""
    return next((name for name in ("anna", "bo", "cy") if place.ask(name) == "2.0.0"), None)


def _abort(place: Place) -> float:
    user = _of_candidate(place)
    assert user is not None
    code, said = place.decide("Abort", "2.0.0", user="bob", name=f"stop-{place.name}")
    started = time.monotonic()
    assert code == 201, said
    while place.ask(user) != "1.0.0":
        assert time.monotonic() - started < 60
    return time.monotonic() - started


def _churn(product: Product, url: str, count: int) -> Json:
    """Workflows that come and go, a thousand at a time; the memory before and after."""
    before, memory = _memory(product), []
    for turn in range(count // 1000):
        prefix = f"c{turn}"
        _create(product, url, 1000, prefix)
        for number in range(1000):
            product.admin.delete("agentworkflows", NAMESPACE, f"{prefix}-{number}")
        until("they are gone", partial(_seldom, partial(_is_gone, product, f"{prefix}-")), 600)
        memory.append(_memory(product))
    return {"churned": 1000 * len(memory), "rss_mb_before_churn": before, "rss_mb_during_churn": memory}


def _is_gone(product: Product, prefix: str) -> bool:
    found = product.admin.objects("agentworkflows", NAMESPACE)
    return not any(item["metadata"]["name"].startswith(prefix) for item in found)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workflows", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--rest", type=float, default=900.0)
    parser.add_argument("--churn", type=int, default=10_000)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    facts = conditions() | {"pinned": False}
    results = []
    for number, count in enumerate(options.workflows):
        results.append(measure(count, options.rest, options.churn if number == 0 else 0))
        print(json.dumps(results[-1], indent=2))
        (HERE / "results" / "operator.json").write_text(
            json.dumps({"conditions": facts, "results": results}, indent=2) + "\n"
        )
    print(section("operator"))
    if options.readme:
        publish()


if __name__ == "__main__":
    main()
