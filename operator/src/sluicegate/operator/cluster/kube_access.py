"""Where the API server is and who we are to it: a kubeconfig file, or the service account of the pod.

Nothing is read that was not asked for: no KUBECONFIG, no ~/.kube/config, no proxy variables.
"""

import base64
import binascii
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import yaml

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.operator.cluster.kube_exec import ExecToken

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeConfig:
    """kubeconfig: a file; None: the service account of this pod. request_seconds: the deadline of a call, retries included."""

    kubeconfig: Path | None = None
    context: str | None = None
    request_seconds: float = 10.0
    account: Path = ACCOUNT


class TokenSource(Protocol):
    """A bearer token that may change."""

    async def token(self) -> str | None:
        """The present one; None when there is none."""
        ...

    def expire(self) -> bool:
        """It was not accepted. True when asking again may bring another."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Access:
    """Everything that a client needs. PEM texts, never paths; never printed."""

    server: str
    token: TokenSource
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    verify: bool = True
    server_name: str | None = None
    proxy: str | None = None


class FixedToken:
    """A token that stays, or none."""

    def __init__(self, token: str | None = None) -> None:
        self._token = token

    async def token(self) -> str | None:
        """The present one."""
        return self._token

    def expire(self) -> bool:
        """There is no other."""
        return False


class FileToken:
    """A file that is read again every minute: the kubelet renews it. While it cannot be read the old one stays."""

    def __init__(self, path: Path, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path, self._monotonic = path, monotonic
        self._token: str | None = None
        self._until = -1.0

    async def token(self) -> str | None:
        """The present one."""
        if self._token is None or self._monotonic() >= self._until:
            try:
                self._token = self._path.read_text("utf-8").strip() or self._token
            except OSError as error:
                if self._token is None:
                    raise _refused(str(self._path), f"the token cannot be read: {error.strerror}") from error
            self._until = self._monotonic() + REREAD_SECONDS
        return self._token

    def expire(self) -> bool:
        """Read it again next time."""
        self._until = -1.0
        return True


def access_of(config: KubeConfig) -> Access:
    """Where and who; Refused with the place of what is wrong."""
    return _in_cluster(config.account) if config.kubeconfig is None else _of_file(config)


def _in_cluster(account: Path) -> Access:
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{part}", "") for part in ("HOST", "PORT"))
    if not host or not port:
        raise _refused(
            "KUBERNETES_SERVICE_HOST",
            "this process does not run in a pod",
            hint="outside a cluster give --kubeconfig",
        )
    return Access(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        token=FileToken(account / "token"),
        ca=_text(account / "ca.crt"),
    )


def _of_file(config: KubeConfig) -> Access:
    path = config.kubeconfig or Path()
    try:
        loaded = yaml.safe_load(_text(path))
    except yaml.YAMLError as error:
        raise _refused(str(path), "is not YAML") from error
    if not isinstance(loaded, dict):
        raise _refused(str(path), "is not a kubeconfig")
    file = _File(path, loaded)
    context = file.named("contexts", "context", config.context or str(loaded.get("current-context") or ""))
    cluster = file.named("clusters", "cluster", str(context.get("cluster") or ""))
    user = file.named("users", "user", str(context["user"])) if context.get("user") else {}
    if not cluster.get("server"):
        raise _refused(str(path), f"cluster {context.get('cluster')} has no server")
    return Access(
        server=str(cluster["server"]).rstrip("/"),
        token=file.token(user),
        ca=file.pem(cluster, "certificate-authority"),
        certificate=file.pem(user, "client-certificate"),
        key=file.pem(user, "client-key"),
        verify=not cluster.get("insecure-skip-tls-verify", False),
        server_name=cluster.get("tls-server-name"),
        proxy=cluster.get("proxy-url"),
    )


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    content: dict[str, Any]

    def named(self, section: str, key: str, name: str) -> dict[str, Any]:
        entries = [entry for entry in self.content.get(section) or () if isinstance(entry, dict)]
        for entry in entries:
            if entry.get("name") == name:
                return entry.get(key) or {}
        allowed = ", ".join(sorted(str(entry.get("name")) for entry in entries)) or "none is there"
        raise _refused(str(self.path), f"no {key} of this name", value=name or "(empty)", allowed=allowed)

    def pem(self, entry: dict[str, Any], key: str) -> str | None:
        if data := entry.get(f"{key}-data"):
            try:
                return base64.b64decode(data, validate=True).decode()
            except (binascii.Error, ValueError) as error:
                raise _refused(str(self.path), f"{key}-data is not base64 of a PEM text") from error
        return _text(self.beside(entry[key])) if entry.get(key) else None

    def token(self, user: dict[str, Any]) -> TokenSource:
        """As kubectl: a tokenFile wins over a token."""
        if user.get("tokenFile"):
            return FileToken(self.beside(user["tokenFile"]))
        if user.get("token"):
            return FixedToken(str(user["token"]))
        if user.get("exec"):
            return ExecToken(user["exec"], self.path.parent)
        for unknown in ("auth-provider", "username"):
            if user.get(unknown):
                raise _refused(
                    str(self.path),
                    f"{unknown} is not supported",
                    allowed="token, tokenFile, exec, client-certificate",
                )
        return FixedToken()

    def beside(self, path: str) -> Path:
        return self.path.parent / path


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not text"
        raise _refused(str(path), f"cannot be read: {why}") from error


def _refused(
    path: str, message: str, *, value: str | None = None, allowed: str | None = None, hint: str | None = None
) -> Refused:
    return Refused((Problem(path=path, message=message, value=value, allowed=allowed, hint=hint),))
