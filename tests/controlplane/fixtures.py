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
def kinds(plane: ControlPlane) -> ControlPlane:
    """The control plane with the project's kinds, and the Gateway API's."""
    installation.install(plane)
    return plane


@pytest.fixture(scope="module")
def installed(kinds: ControlPlane) -> Iterator[ControlPlane]:
    """The same for one file: no admission rules of the file before, and none of this one afterwards."""
    installation.clear(kinds)
    yield kinds
    installation.clear(kinds)
