"""`make demo-k8s`: Sluicegate on a real Kubernetes control plane, on this machine, from nothing to nothing.

0 only if every promise was kept. Everything is stopped at the end, also after Ctrl-C.
"""

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.kubernetes import cluster
from examples.kubernetes.product import SYSTEM, Product
from examples.kubernetes.story import Story
from examples.kubernetes.telling import Telling
from sluicegate.console.traffic import BackgroundTraffic, support_customers
from tests.controlplane import binaries
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Ended

SEED = 1
RATE = 20.0
INTERRUPTED = 130


def main() -> int:
    """Run it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        found = _binaries()
        telling = Telling()
        with tempfile.TemporaryDirectory(prefix="sluicegate-k8s-") as folder:
            _play(telling, found, Path(folder))
        telling.verdict()
    except (binaries.NoControlPlane, Ended) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    return 0 if telling.kept else 1


def _binaries() -> binaries.Binaries:
    found = binaries.find()
    if isinstance(found, binaries.Existing):
        raise binaries.NoControlPlane("the demo starts its own control plane; unset USE_EXISTING_CLUSTER")
    return found


def _play(telling: Telling, found: binaries.Binaries, folder: Path) -> None:
    telling.step("A Kubernetes control plane: etcd, kube-apiserver, kube-controller-manager")
    with ControlPlane(found) as plane:
        telling.say(f"{plane.server}; users: admin, alice and bob (board), carol (team), mallory (nobody)")
        telling.step("Kinds, policies, roles and accounts: the chart, rendered by Helm")
        count = cluster.install(plane)
        telling.say(f"{count} objects; its Deployments run as processes here, with their accounts' tokens")
        with _running(plane, folder / "product") as product:
            telling.step("Two operators, a gateway, a lineage process, and the example's components")
            product.start()
            base = product.components(SEED)
            telling.say(f"{', '.join(product.processes.pids())}; leader: {product.leader()}")
            story = Story(plane, product, telling, folder, base)
            _rollouts(telling, story)
            _rights(telling, plane)


def _rollouts(telling: Telling, story: Story) -> None:
    telling.step("Version 1")
    story.first()
    url = story.product.runs_url(cluster.NAMESPACE, cluster.NAME)
    users = BackgroundTraffic(url, support_customers(SEED), rate=RATE, seed=SEED)
    telling.say(f"{RATE:g} new users per second ask {url}")
    users.start()
    try:
        telling.step("2.0.0: a better candidate")
        if story.good(users):
            telling.step("2.1.0: a worse candidate, and the leading operator dies")
            story.bad(users, lambda: _kill_leader(story.product))
    finally:
        users.stop()
    counts = users.tally.by_version()
    shown = ", ".join(f"{number} by {version}" for version, number in sorted(counts.items()))
    telling.say(
        f"users' runs: {len(users.tally.answers)}; answered {shown}; {users.tally.failed} without a good answer"
    )
    telling.check("users were answered all the time", users.tally.failed < 0.05 * len(users.tally.answers))


def _kill_leader(product: Product) -> str:
    leader = product.leader()
    product.processes.kill(leader)
    return leader


def _rights(telling: Telling, plane: ControlPlane) -> None:
    telling.step("Who did what, from the API server's audit log")
    ours = [entry for entry in plane.audit() if entry.user.startswith(f"system:serviceaccount:{SYSTEM}:")]
    for user in sorted({entry.user for entry in ours}):
        done = sorted({(e.verb, e.resource) for e in ours if e.user == user and e.resource and e.code < 300})
        telling.say(f"{user.rpartition(':')[2]}: {len(done)} kinds of requests")
    refused = sorted({f"{e.user}: {e.verb} {e.resource}" for e in ours if e.code == 403})
    telling.check("no process asked for what it may not", not refused, "; ".join(refused))
    strangers = {
        e.user for e in plane.audit() if e.resource == "workflowrollouts" and e.verb in ("create", "patch")
    }
    operator = f"system:serviceaccount:{SYSTEM}:sluicegate-operator"
    telling.check("only the operator wrote rollouts", strangers == {operator}, ", ".join(sorted(strangers)))


@contextmanager
def _running(plane: ControlPlane, folder: Path) -> Iterator[Product]:
    product = Product(plane, folder)
    try:
        yield product
    finally:
        product.processes.stop_all()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
