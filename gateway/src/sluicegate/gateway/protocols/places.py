"""Where the endpoints of a workflow are: addresses of Services, and the files of credentials.

A credential is a file that the gateway pod's companion keeps (`operator.edge.credentials`): its name is a hash, so that
no name of a Secret or key can lead anywhere else. It is read when it changed and recorded nowhere.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from sluicegate.contracts.resources.workflow import Endpoint

CREDENTIALS: Final = "credentials"
"""Folder below the state folder."""


def credential_path(folder: Path, namespace: str, secret: str, key: str) -> Path:
    """The file that holds the value of a Secret's key."""
    return folder / sha256(f"{namespace}/{secret}/{key}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Of a workflow. credentials: the folder of credential files; None: there are none (local mode)."""

    namespace: str = "default"
    credentials: Path | None = None

    def address(self, endpoint: Endpoint) -> str:
        """The URL; of a `serviceRef` the Service's name in the cluster's DNS. Empty when there is none."""
        service = endpoint.service_ref
        if service is not None:
            return f"http://{service.name}.{self.namespace}.svc:{service.port}{service.path}"
        return endpoint.url or ""


@dataclass(slots=True)
class CredentialFile:
    """A token in a file that may be replaced at any time."""

    path: Path
    _seen: tuple[int, int, int] | None = None
    _token: str = field(default="", repr=False)

    def token(self) -> str:
        """The present one; empty when there is none."""
        try:
            found = self.path.stat()
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if stamp != self._seen:
                self._token = self.path.read_text("utf-8").strip()
                self._seen = stamp
        except (OSError, UnicodeDecodeError):
            self._seen, self._token = None, ""
        return self._token
