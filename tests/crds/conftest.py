"""The API server with the CRDs."""

import pytest

from tests.controlplane.plane import ControlPlane
from tests.crds.server import Server


@pytest.fixture(scope="module")
def server(installed: ControlPlane) -> Server:
    """Requests as admin."""
    return Server(installed)
