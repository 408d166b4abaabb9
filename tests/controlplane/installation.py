"""What a cluster needs before the project's objects can be in it."""

from contextlib import suppress
from pathlib import Path

from tests.controlplane.binaries import NoControlPlane
from tests.controlplane.existing import ExistingCluster
from tests.controlplane.plane import ControlPlane
from tests.operator.up import until

ROOT = Path(__file__).parents[2]
_RULES = (
    "validatingwebhookconfigurations",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicybindings",
    "validatingadmissionpolicies",
)


def install(plane: ControlPlane) -> None:
    """Apply the CRDs of crds/ and of the Gateway API, and wait until they are served."""
    files = [str(path) for path in sorted((ROOT / "crds").glob("*.yaml"))]
    # An existing cluster and a folder that was given have the Gateway API, or the tests that need it say so.
    if not isinstance(plane, ExistingCluster):
        with suppress(NoControlPlane):
            files.append(str(plane.binaries.path("gateway-api.yaml")))
    if files:
        plane.kubectl("apply", "--server-side", *(f"--filename={file}" for file in files))
        wait = ["--for=condition=Established", "--all", "customresourcedefinitions", "--timeout=60s"]
        plane.kubectl("wait", *wait, seconds=70)


def clear(plane: ControlPlane) -> None:
    """Remove every admission rule, and wait until none is in force."""
    if isinstance(plane, ExistingCluster):
        return  # its rules are somebody else's
    plane.kubectl("delete", ",".join(_RULES), "--all")
    until("no policy is in force", lambda: is_free(plane))


def is_free(plane: ControlPlane) -> bool:
    """Whether a plan may be written by a person, which only the chart's policies forbid."""
    probe = ("create", "configmap", "sluicegate-plan-probe", "-n", "default", "--dry-run=server")
    return plane.kubectl(*probe, check=False).returncode == 0
