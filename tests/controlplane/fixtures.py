"""A control plane for tests: one for each process that runs tests, started when the first asks for it."""

from collections.abc import Iterator

import pytest

from tests.controlplane import binaries, installation
from tests.controlplane.existing import ExistingCluster
from tests.controlplane.plane import ControlPlane


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane | ExistingCluster]:
    """A running control plane. A cluster that exists already (USE_EXISTING_CLUSTER=true) has its kubeconfig's user only."""
    found = binaries.find()
    if isinstance(found, binaries.Existing):
        yield ExistingCluster(found.kubeconfig)
        return
    with ControlPlane(found) as running:
        yield running


@pytest.fixture(scope="session")
def installed(plane: ControlPlane) -> ControlPlane:
    """The control plane with the project's kinds, and the Gateway API's."""
    installation.install(plane)
    return plane


@pytest.fixture(scope="module")
def unruled(installed: ControlPlane) -> Iterator[ControlPlane]:
    """The same for a file that makes admission rules: none of an earlier file, and none of this one afterwards."""
    installation.clear(installed)
    yield installed
    installation.clear(installed)
