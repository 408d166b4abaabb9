"""Kubeconfig files and service accounts: what kubectl understands (client-go's rules), and what is told when it is wrong."""

import base64
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.contracts.errors import Refused, Unavailable
from sluicegate.operator.cluster.kube_access import Access, FileToken, KubeConfig, access_of
from sluicegate.operator.cluster.kube_exec import ExecToken

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def written(folder: Path, *, user: Any = None, cluster: Any = None) -> Path:
    path = folder / "config"
    content = {
        "current-context": "main",
        "contexts": [
            {"name": "main", "context": {"cluster": "one", "user": "me"}},
            {"name": "anonymous", "context": {"cluster": "one"}},
            {"name": "broken", "context": {"cluster": "none"}},
        ],
        "clusters": [
            {"name": "one", "cluster": {"server": "https://example.com:6443/k8s/"} | (cluster or {})}
        ],
        "users": [{"name": "me", "user": user or {}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def read(path: Path, context: str | None = None) -> Access:
    return access_of(KubeConfig(kubeconfig=path, context=context))


def problem_of(path: Path, context: str | None = None) -> str:
    with pytest.raises(Refused) as refused:
        read(path, context)
    return str(refused.value)


async def test_data_and_files_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "some.pem").write_text(PEM)
    data = base64.b64encode(PEM.encode()).decode()
    by_data = read(
        written(
            tmp_path,
            user={"client-certificate-data": data, "client-key-data": data},
            cluster={"certificate-authority-data": data},
        )
    )
    by_file = read(
        written(
            tmp_path,
            user={"client-certificate": "some.pem", "client-key": str(tmp_path / "some.pem")},
            cluster={"certificate-authority": "some.pem"},
        )
    )
    for found in (by_data, by_file):
        assert (found.ca, found.certificate, found.key) == (PEM, PEM, PEM)
        assert found.server == "https://example.com:6443/k8s"
        assert await found.token.token() is None


def test_what_belongs_to_the_cluster(tmp_path: Path) -> None:
    found = read(written(tmp_path))
    assert (found.verify, found.server_name, found.proxy) == (True, None, None)
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "kube", "proxy-url": "http://proxy:1"}
    found = read(written(tmp_path, cluster=cluster))
    assert (found.verify, found.server_name, found.proxy) == (False, "kube", "http://proxy:1")


async def test_a_token_file_wins_over_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from file\n")
    found = read(written(tmp_path, user={"token": "inline", "tokenFile": "token"}))
    assert await found.token.token() == "from file"
    assert await read(written(tmp_path, user={"token": "inline"})).token.token() == "inline"
    assert await read(written(tmp_path, user={"token": "inline"}), "anonymous").token.token() is None


async def test_a_file_is_read_again_every_minute_and_the_old_token_stays_while_it_cannot_be(
    tmp_path: Path,
) -> None:
    now = 0.0
    path = tmp_path / "token"
    path.write_text("one")
    source = FileToken(path, lambda: now)
    assert await source.token() == "one"
    path.write_text("two")
    now = 59.0
    assert await source.token() == "one"
    now = 60.0
    assert await source.token() == "two"
    path.unlink()
    now = 200.0
    assert await source.token() == "two"
    path.write_text("three")
    assert source.expire()
    assert await source.token() == "three"
    with pytest.raises(Refused, match="cannot be read"):
        await FileToken(tmp_path / "none").token()


def test_what_is_wrong_is_told_with_its_place(tmp_path: Path) -> None:
    assert "none: cannot be read: No such file" in problem_of(tmp_path / "none")
    path = written(tmp_path)
    assert "got elsewhere; allowed: anonymous, broken, main" in problem_of(path, "elsewhere")
    assert "no cluster of this name; got none; allowed: one" in problem_of(path, "broken")
    path.write_text("a: [")
    assert "is not YAML" in problem_of(path)
    path.write_text("text")
    assert "is not a kubeconfig" in problem_of(path)
    assert "has no server" in problem_of(written(tmp_path, cluster={"server": ""}))
    assert "client-key-data" in problem_of(written(tmp_path, user={"client-key-data": "ü"}))
    assert "auth-provider is not supported" in problem_of(
        written(tmp_path, user={"auth-provider": {"name": "gcp"}})
    )


def test_nothing_is_read_that_was_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path)))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(Refused, match="does not run in a pod"):
        access_of(KubeConfig())


@pytest.mark.parametrize(
    ("host", "server"),
    [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")],
    ids=["v4", "v6"],
)
async def test_in_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, server: str) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "ca.crt").write_text(PEM)
    (tmp_path / "token").write_text("secret")
    found = access_of(KubeConfig(account=tmp_path))
    assert (found.server, found.ca, await found.token.token()) == (server, PEM, "secret")
    assert "secret" not in repr(found)


# Credential plugins


def plugin(folder: Path, body: str) -> dict[str, Any]:
    path = folder / "plugin"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin"}


ANSWER = """
count = len(open("COUNT", "a+").read())
open("COUNT", "a").write(".")
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = {"token": f"{sys.argv[1]}-{os.environ['SALT']}", "expirationTimestamp": "2026-01-01T01:00:00Z"}
print(json.dumps({"apiVersion": asked["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


async def test_a_plugin_is_asked_again_before_its_token_expires(tmp_path: Path) -> None:
    count = tmp_path / "count"
    spec = plugin(tmp_path, ANSWER.replace("COUNT", str(count)))
    spec |= {"args": ["pepper"], "env": [{"name": "SALT", "value": "salt"}]}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    source = ExecToken(spec, tmp_path, lambda: now)
    for _ in range(2):
        assert await source.token() == "pepper-salt"
    assert count.read_text() == "."
    now += timedelta(minutes=59)
    await source.token()
    assert count.read_text() == ".."
    assert source.expire()
    await source.token()
    assert count.read_text() == "..."
    found = read(written(tmp_path, user={"exec": spec}))
    assert await found.token.token() == "pepper-salt"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("sys.exit('not logged in')", r"failed \(1\): not logged in"),
        ("print('hello')", "no ExecCredential"),
        ("print('{}')", "gave no token"),
    ],
    ids=["failed", "text", "empty"],
)
async def test_a_plugin_that_fails_is_told_in_its_words(tmp_path: Path, body: str, told: str) -> None:
    with pytest.raises(Refused, match=told):
        await ExecToken(plugin(tmp_path, body), tmp_path).token()


async def test_a_plugin_that_is_not_there_or_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match="hint: install it"):
        await ExecToken({"command": "no-such-plugin", "installHint": "install it"}, tmp_path).token()
    monkeypatch.setattr("sluicegate.operator.cluster.kube_exec._SECONDS", 0.2)
    with pytest.raises(Unavailable, match="did not answer"):
        await ExecToken(plugin(tmp_path, "import time; time.sleep(60)"), tmp_path).token()
