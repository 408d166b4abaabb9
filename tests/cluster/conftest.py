"""One product and one component server for each file; a namespace, with the people who work in it."""

from collections.abc import Iterator

import pytest

from tests.charts import installation
from tests.cluster.product import Product, running
from tests.controlplane.plane import ControlPlane
from tests.operator.up import component_server

NAMESPACE = "shop"
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with component_server() as base:
        yield base


@pytest.fixture(scope="module")
def cluster(unruled: ControlPlane) -> ControlPlane:
    """The control plane with the chart's rules and rights, a namespace `shop`, and people with roles in it."""
    prepare(unruled)
    return unruled


def prepare(plane: ControlPlane) -> None:
    """What an administrator does before the product starts."""
    installation.install(plane, (*installation.ROLES, *installation.POLICIES, *WEBHOOKS))
    plane.kubectl("create", "namespace", NAMESPACE, check=False)
    plane.allow("group:team", "sluicegate-edit", NAMESPACE)
    for role in ("view", "approver", "promoter", "aborter", "overrider", "reviewer"):
        plane.allow("group:board", f"sluicegate-{role}", NAMESPACE)


@pytest.fixture(scope="module")
def product(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with running(cluster, tmp_path_factory.mktemp("product") / "p") as product:
        yield product
