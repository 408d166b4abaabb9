"""A control plane on loopback: etcd, kube-apiserver, kube-controller-manager; on request kube-scheduler and kwok."""

import json
import os
import shutil
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.controlplane import audit, manifests
from tests.controlplane.binaries import Binaries
from tests.controlplane.certificates import Authority, Pair, signing_pair
from tests.controlplane.processes import Ended, Processes, free_port, until_ready

ATTEMPTS = 4
ADMIN = "admin"


class ControlPlane:
    """Runs from `start` (or the `with`) to `stop`. Users: admin; alice and bob of group board; carol of group team;
    mallory and walter of none. None but admin has a right before someone binds one.
    """

    def __init__(
        self,
        binaries: Binaries,
        *,
        nodes: bool = False,
        apiserver: Sequence[str] = (),
        root: Path | None = None,
    ) -> None:
        self.binaries = binaries
        self._nodes = nodes
        self._more = tuple(apiserver)
        # Sockets of etcd are in it: their paths have to be short.
        self.folder = Path(tempfile.mkdtemp(prefix="controlplane-", dir=root))
        (self.folder / "logs").mkdir()
        self.processes = Processes(self.folder / "logs")
        self.authority = Authority(self.folder)
        self._serving = self.authority.server("serving")
        self._accounts = signing_pair(self.folder)
        self._pairs: dict[str, Pair] = {}
        self._audit = self.folder / "audit.json"
        self.port = 0

    def __enter__(self) -> Self:
        """Started."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stopped, and nothing is left."""
        self.stop()

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when requests are answered and service accounts are made. Raises Ended with the end of a log."""
        try:
            self._start_etcd()
            self._start_on_a_free_port()
            self._start_controllers()
            if self._nodes:
                self._start_nodes()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every process and remove every file."""
        self.processes.stop_all()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_apiserver(self) -> None:
        """On the same port; returns when it is ready. For those who stopped or killed it."""
        name = "kube-apiserver"
        self.processes.start(name, [self.binaries.path(name), *self._apiserver_flags()])
        context = self.tls()
        until_ready(name, self.processes, lambda: _answers(f"{self.server}/readyz", context))

    def kubeconfig(self, user: str = ADMIN, *, namespace: str = "default", server: str | None = None) -> Path:
        """Of a user with a client certificate. server: another address than the API server's own."""
        pair = self._pair(user, manifests.USERS[user])
        access = manifests.Access(
            server=server or self.server,
            authority=self.authority.certificate,
            certificate=pair.certificate,
            key=pair.key,
            namespace=namespace,
        )
        return self._written(f"{user}.{namespace}", access)

    def account_kubeconfig(
        self, namespace: str, name: str, *, seconds: int = 86400, server: str | None = None
    ) -> Path:
        """Of a service account, with a token in a file beside it; call it again for a fresh token in the same file."""
        path = self.folder / f"account.{namespace}.{name}.token"
        fresh = path.with_suffix(".fresh")
        fresh.touch(mode=0o600)
        fresh.write_text(self.token(namespace, name, seconds=seconds))
        fresh.replace(path)
        access = manifests.Access(
            server=server or self.server,
            authority=self.authority.certificate,
            token=path,
            namespace=namespace,
        )
        return self._written(f"account.{namespace}.{name}", access)

    def token(self, namespace: str, name: str, *, seconds: int = 3600) -> str:
        """Of a service account, from the API server, for `seconds` (600 at least)."""
        done = self.kubectl("create", "token", name, "-n", namespace, f"--duration={seconds}s")
        return done.stdout.strip()

    def kubectl(
        self, *args: str, user: str = ADMIN, input: str | None = None, check: bool = True, seconds: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run it as a user. check: an exit status other than 0 is an AssertionError with its words."""
        return run_kubectl(
            self.binaries.path("kubectl"),
            self.kubeconfig(user),
            args,
            input=input,
            check=check,
            seconds=seconds,
        )

    def get(self, *args: str, user: str = ADMIN) -> dict[str, Any]:
        """`kubectl get … -o json`."""
        found: dict[str, Any] = json.loads(self.kubectl("get", *args, "-o", "json", user=user).stdout)
        return found

    def apply(self, *items: Mapping[str, Any], user: str = ADMIN) -> None:
        """`kubectl apply --server-side` of these."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        self.kubectl("apply", "--server-side", "-f", "-", user=user, input=text)

    def allow(self, subject: str, role: str, namespace: str | None = None) -> None:
        """Bind a ClusterRole to `group:NAME`, `user:NAME` or `account:NAMESPACE:NAME`, in a namespace or everywhere.
        Later files see it too: who may everything is walter or an account, never a person whom other files refuse things.
        """
        assert role != "cluster-admin" or subject.startswith(("account:", "user:walter")), subject
        kind, _, name = subject.partition(":")
        flag = {"group": "--group", "user": "--user", "account": "--serviceaccount"}[kind]
        what = ["clusterrolebinding"] if namespace is None else ["rolebinding", "-n", namespace]
        where = [f"--clusterrole={role}", f"{flag}={name}", "--dry-run=client", "-o", "yaml"]
        made = self.kubectl("create", *what, _binding(subject, role), *where)
        self.kubectl("apply", "-f", "-", input=made.stdout)

    def disallow(self, subject: str, role: str) -> None:
        """Take back what `allow` gave everywhere."""
        self.kubectl("delete", "clusterrolebinding", _binding(subject, role), "--ignore-not-found")

    def add_node(self, name: str, **capacity: str) -> None:
        """A simulated node, for a control plane with `nodes`; capacity adds to 8 cores, 32 GiB and 110 pods."""
        self.kubectl("create", "-f", "-", input=json.dumps(manifests.node(name, capacity)))
        self.kubectl("wait", "--for=condition=Ready", f"node/{name}", "--timeout=60s", seconds=70)

    def audit(self, after: int = 0) -> list[audit.Entry]:
        """What was asked of the API server, without its own parts' requests. after: a position from `audit_position`.
        A request's entry comes a moment after its answer.
        """
        return audit.read(self._audit, after)

    def audit_position(self) -> int:
        """Where the next entry will be."""
        return audit.position(self._audit)

    def _start_etcd(self) -> None:
        socket_ = f"unix://{self.folder}/etcd.sock"
        flags = [f"--data-dir={self.folder}/etcd", "--unsafe-no-fsync", "--log-level=warn"]
        flags += [f"--listen-client-urls={socket_}", "--advertise-client-urls=http://localhost:2379"]
        flags += [f"--listen-peer-urls=unix://{self.folder}/peer.sock"]
        self.processes.start("etcd", [self.binaries.path("etcd"), *flags])
        until_ready("etcd", self.processes, (self.folder / "etcd.sock").exists)

    def _start_on_a_free_port(self) -> None:
        for attempt in range(ATTEMPTS):
            self.port = free_port()
            try:
                return self.start_apiserver()
            except Ended as error:
                taken = "address already in use" in str(error)
                if not taken or attempt == ATTEMPTS - 1:
                    raise
                self.processes.stop("kube-apiserver")
        return None

    def _start_controllers(self) -> None:
        name = "kube-controller-manager"
        flags = [
            f"--kubeconfig={self._part('system:kube-controller-manager')}",
            f"--controllers={','.join(manifests.CONTROLLERS)}",
            f"--service-account-private-key-file={self._accounts[0]}",
            f"--root-ca-file={self.authority.certificate}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--secure-port=0",
        ]
        self.processes.start(name, [self.binaries.path(name), *flags])
        until_ready(name, self.processes, self._has_accounts)

    def _start_nodes(self) -> None:
        scheduler, kwok = self.binaries.path("kube-scheduler"), self.binaries.path("kwok")
        part = self._part("system:kube-scheduler")
        self.processes.start(
            "kube-scheduler", [scheduler, f"--kubeconfig={part}", "--leader-elect=false", "--secure-port=0"]
        )
        flags = [f"--kubeconfig={self.kubeconfig()}", "--manage-all-nodes=true"]
        flags += ["--node-lease-duration-seconds=40", f"--config={self.binaries.path('kwok-stages.yaml')}"]
        self.processes.start("kwok", [kwok, *flags])

    def _apiserver_flags(self) -> list[str]:
        policy = self.folder / "audit-policy.json"
        policy.write_text(json.dumps(manifests.AUDIT_POLICY))
        return [
            f"--etcd-servers=unix://{self.folder}/etcd.sock",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--client-ca-file={self.authority.certificate}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._accounts[1]}",
            f"--service-account-signing-key-file={self._accounts[0]}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            "--enable-priority-and-fairness=true",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self._audit}",
            "--event-ttl=30m",
            *self._more,
        ]

    def _pair(self, user: str, groups: tuple[str, ...]) -> Pair:
        if user not in self._pairs:
            self._pairs[user] = self.authority.client(user, groups)
        return self._pairs[user]

    def _part(self, user: str) -> Path:
        pair = self._pair(user, ())
        access = manifests.Access(
            server=self.server,
            authority=self.authority.certificate,
            certificate=pair.certificate,
            key=pair.key,
        )
        return self._written(user.replace(":", "."), access)

    def _written(self, name: str, access: manifests.Access) -> Path:
        at = "" if access.server == self.server else f".{access.server.rpartition(':')[2]}"
        path = self.folder / f"{name}{at}.kubeconfig"
        text = manifests.kubeconfig(access)
        if not path.exists() or path.read_text() != text:
            path.touch(mode=0o600)
            path.write_text(text)
        return path

    def tls(self, user: str = ADMIN) -> ssl.SSLContext:
        """For requests without kubectl, as a user."""
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        pair = self._pair(user, manifests.USERS[user])
        context.load_cert_chain(pair.certificate, pair.key)
        return context

    def _has_accounts(self) -> bool:
        return self.kubectl("get", "serviceaccount", "default", "-n", "default", check=False).returncode == 0


def run_kubectl(
    program: Path, kubeconfig: Path, args: Sequence[str], *, input: str | None, check: bool, seconds: float
) -> subprocess.CompletedProcess[str]:
    """One call; what it discovers is kept beside the kubeconfig."""
    environ = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "KUBECACHEDIR": str(kubeconfig.parent / "discovery"),
    }
    done = subprocess.run(
        [str(program), *args],
        input=input,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environ,
        check=False,
    )
    if check and done.returncode:
        raise AssertionError(f"kubectl {' '.join(args)}: {done.returncode}\n{done.stderr or done.stdout}")
    return done


def _answers(url: str, context: ssl.SSLContext) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5, context=context) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _binding(subject: str, role: str) -> str:
    return f"{role}-{subject}".replace(":", "-").replace(".", "-")
