"""A kubeconfig, or a pod's own account, as what a request needs. The only module that imports `kubernetes`."""

import difflib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import ConfigException, load_incluster_config
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from sluicegate.contracts.errors import Forbidden, Problem, Refused

DEFAULT = "~/.kube/config"
POD = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One API server and one caller. pool: of urllib3. authorization: the header's value now, refreshed when it is due."""

    host: str
    context: str
    user: str
    namespace: str
    pool: Any
    authorization: Callable[[], str | None]


def access(kubeconfig: Path | None, context: str | None) -> Access:
    """By the file, else $KUBECONFIG, else ~/.kube/config, else the pod's own account.

    Refused: no such file or context, with those that there are. Forbidden: its program gave no credentials.
    """
    if kubeconfig is not None and not kubeconfig.is_file():
        raise _refused("--kubeconfig", "no such file", str(kubeconfig))
    files = str(kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT)
    try:
        if kubeconfig is None and context is None and not _exists(files) and (POD / "token").exists():
            return _pod()
        return _by_file(files, context)
    except ConfigException as error:
        raise _refused("kubeconfig", str(error), files) from error


def _exists(files: str) -> bool:
    return any(Path(one).expanduser().is_file() for one in files.split(os.pathsep) if one)


def _pod() -> Access:
    configuration = Configuration()
    load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    namespace = (POD / "namespace").read_text().strip()
    return _made(configuration, context="(in the cluster)", user="the pod's account", namespace=namespace)


def _by_file(files: str, wanted: str | None) -> Access:
    if not _exists(files):
        raise _refused(
            "--kubeconfig", "there is none", files, hint="set KUBECONFIG, or give --kubeconfig PATH"
        )
    try:
        merged = KubeConfigMerger(files)  # type: ignore[no-untyped-call]
    except Exception as error:  # any text may lie in that file
        raise _refused("--kubeconfig", f"cannot be read: {error}".replace("\n", " "), files) from error
    if merged.config is None:
        raise _refused("--kubeconfig", "is empty", files)
    held = merged.config.value
    contexts = {one["name"]: one.get("context") or {} for one in map(_plain, held.get("contexts") or ())}
    name = wanted or held.get("current-context")
    if not name or name not in contexts:
        raise _no_context(wanted, name, sorted(contexts))
    loader = KubeConfigLoader(  # type: ignore[no-untyped-call]
        config_dict=merged.config, active_context=name, config_persister=merged.save_changes
    )
    configuration = Configuration()
    user = str(contexts[name].get("user") or "")
    with _told() as said:
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    if said:
        raise Forbidden(
            (Problem(path=f"user {user}", message=f"no credentials: {'; '.join(said)}", hint="log in again"),)
        )
    namespace = str(contexts[name].get("namespace") or "default")
    return _made(configuration, context=str(name), user=user, namespace=namespace)


def _plain(node: Any) -> dict[str, Any]:
    """The merger wraps what it read."""
    return dict(getattr(node, "value", node))


def _made(configuration: Any, *, context: str, user: str, namespace: str) -> Access:
    return Access(
        host=configuration.host,
        context=context,
        user=user,
        namespace=namespace,
        pool=RESTClientObject(configuration).pool_manager,
        authorization=lambda: _header(configuration),
    )


def _header(configuration: Any) -> str | None:
    """The loader keeps it under either name, with `Bearer` or `Basic` in front."""
    found = configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
    return None if found is None else str(found)


@contextmanager
def _told() -> Iterator[list[str]]:
    """What the loader logs instead of raising: why a credential program failed."""
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    root, handler = logging.getLogger(), Kept(logging.ERROR)
    root.addHandler(handler)
    try:
        yield said
    finally:
        root.removeHandler(handler)


def _no_context(wanted: str | None, name: Any, known: list[str]) -> Refused:
    close = difflib.get_close_matches(wanted or "", known, n=1, cutoff=0.5)
    return _refused(
        "--context",
        "no such context" if name else "the kubeconfig has no current context",
        str(name) if name else None,
        allowed=", ".join(known) or "none: the kubeconfig has no contexts",
        hint=f"did you mean {close[0]}?" if close else None,
    )


def _refused(
    path: str, message: str, value: str | None, *, allowed: str | None = None, hint: str | None = None
) -> Refused:
    return Refused((Problem(path=path, message=message, value=value, allowed=allowed, hint=hint),))
