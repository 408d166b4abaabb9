"""The control plane that the tests of the cluster stand on."""

from tests.controlplane.plane import ControlPlane


def test_the_projects_and_the_gateway_apis_kinds_are_served(installed: ControlPlane) -> None:
    served = installed.kubectl("api-resources", "--no-headers", "-o", "name").stdout.split()
    assert "httproutes.gateway.networking.k8s.io" in served
