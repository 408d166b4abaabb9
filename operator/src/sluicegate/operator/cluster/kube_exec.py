"""Tokens of credential plugins (client.authentication.k8s.io), as kubeconfig files of clouds name them."""

import asyncio
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Problem, Refused, Unavailable

_EARLY: Final = timedelta(seconds=60)
_SECONDS: Final = 60.0


class ExecToken:
    """A token that a program prints; asked again a minute before it expires. Certificates from plugins are not supported."""

    def __init__(self, spec: dict[str, Any], folder: Path, now: Callable[[], datetime] = system.now) -> None:
        self._spec, self._folder, self._now = spec, folder, now
        self._token: str | None = None
        self._until: datetime | None = None
        self._lock = asyncio.Lock()

    async def token(self) -> str | None:
        """The present one."""
        async with self._lock:
            if self._token is None or (self._until is not None and self._now() >= self._until):
                await self._ask()
            return self._token

    def expire(self) -> bool:
        """Ask the program again next time."""
        self._token = None
        return True

    async def _ask(self) -> None:
        status = _status(self._command, await self._run())
        self._token = status.get("token")
        if not self._token:
            raise _refused(
                self._command, "the credential plugin gave no token", allowed="plugins that give tokens"
            )
        until = status.get("expirationTimestamp")
        self._until = datetime.fromisoformat(until) - _EARLY if until else None

    @property
    def _command(self) -> str:
        """A path with a slash is relative to the kubeconfig."""
        named = str(self._spec.get("command") or "")
        return str(self._folder / named) if "/" in named else named

    async def _run(self) -> bytes:
        version = self._spec.get("apiVersion", "client.authentication.k8s.io/v1")
        info = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
        more = {str(item["name"]): str(item["value"]) for item in self._spec.get("env") or ()}
        environment = {**os.environ, **more, "KUBERNETES_EXEC_INFO": orjson.dumps(info).decode()}
        arguments = [str(item) for item in self._spec.get("args") or ()]
        try:
            process = await asyncio.create_subprocess_exec(
                self._command,
                *arguments,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = self._spec.get("installHint")
            raise _refused(
                self._command, f"the credential plugin cannot be started: {error.strerror}", hint=hint
            ) from error
        try:
            async with asyncio.timeout(_SECONDS):
                out, told = await process.communicate()
        except BaseException as error:
            process.kill()
            await process.wait()
            if isinstance(error, TimeoutError):
                raise Unavailable(
                    f"the credential plugin {self._command} did not answer in {_SECONDS:g} s"
                ) from error
            raise
        if process.returncode:
            text = told.decode(errors="replace").strip()[:500]
            raise _refused(self._command, f"the credential plugin failed ({process.returncode}): {text}")
        return out


def _status(command: str, out: bytes) -> dict[str, Any]:
    try:
        return dict(orjson.loads(out).get("status") or {})
    except (orjson.JSONDecodeError, AttributeError, TypeError, ValueError) as error:
        raise _refused(command, "the credential plugin gave no ExecCredential") from error


def _refused(path: str, message: str, *, allowed: str | None = None, hint: str | None = None) -> Refused:
    return Refused((Problem(path=path, message=message, allowed=allowed, hint=hint),))
