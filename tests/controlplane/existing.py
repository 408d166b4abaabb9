"""A cluster that runs already, seen through its kubeconfig."""

import shutil
import subprocess
from pathlib import Path

from tests.controlplane.binaries import NoControlPlane
from tests.controlplane.plane import ADMIN, ControlPlane, run_kubectl


class ExistingCluster(ControlPlane):
    """Only what the current kubeconfig may; it has no other users, no audit log, and is not stopped."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    def kubeconfig(self, user: str = ADMIN, *, namespace: str = "default", server: str | None = None) -> Path:
        """The current one, for admin."""
        if user != ADMIN or server is not None or namespace != "default":
            raise NoControlPlane(
                f"an existing cluster has no user {user}; unset USE_EXISTING_CLUSTER for this test"
            )
        return self._kubeconfig

    def kubectl(
        self, *args: str, user: str = ADMIN, input: str | None = None, check: bool = True, seconds: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """With the kubectl of PATH."""
        program = shutil.which("kubectl")
        if program is None:
            raise NoControlPlane("USE_EXISTING_CLUSTER=true needs kubectl in PATH")
        return run_kubectl(
            Path(program), self.kubeconfig(user), args, input=input, check=check, seconds=seconds
        )
