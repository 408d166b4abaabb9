"""Credentials of components: the Secrets that plans name, as files for the workers.

Exactly those are read, by `get`, once before a plan is served and every `period` seconds after; a key's file is replaced
in one step, so that a rotation needs no restart. Values are in these files (0600, below a folder that the chart mounts
from memory) and nowhere else: no log, status, plan, argument or document ever holds one.
"""

import asyncio
import base64
import binascii
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import structlog

from sluicegate.contracts.errors import Forbidden, NotFound, SluicegateError
from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_table import WorkflowKey
from sluicegate.gateway.protocols.places import credential_path
from sluicegate.operator.cluster.ports import SECRETS, KubeReader
from sluicegate.operator.ports import LoopClock

PERIOD: Final = 60.0
MISSING: Final = 5.0
"""A Secret that could not be read is asked for again so soon."""
FIRST: Final = 5.0
"""Longest wait for a plan's Secrets before it is served without them."""
log = structlog.get_logger(__name__)


class Secret(NamedTuple):
    """An object."""

    namespace: str
    name: str


class Wanted(NamedTuple):
    """A key of a Secret."""

    secret: Secret
    key: str


def wanted(plan: RoutePlan) -> frozenset[Wanted]:
    """What the components of a plan need, stand-ins of mirrors included."""
    bodies = [body for body in (plan.stable, plan.candidate) if body is not None]
    return frozenset(
        Wanted(Secret(plan.namespace, name), key) for body in bodies for name, key in _references(body.spec)
    )


def _references(spec: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for component in spec.get("components") or ():
        stub = component.get("mirrorStub") or {}
        for endpoint in (component.get("endpoint") or {}, stub.get("endpoint") or {}):
            reference = (endpoint.get("credentialRef") or {}).get("secretKeyRef")
            if reference:
                yield reference["name"], reference["key"]


@dataclass(slots=True)
class _Look:
    due: float
    problem: str | None = None


@dataclass(slots=True, kw_only=True)
class Credentials:
    """The files below `folder`. One event loop."""

    api: KubeReader
    folder: Path
    clock: LoopClock
    period: float = PERIOD
    _plans: dict[WorkflowKey, frozenset[Wanted]] = field(default_factory=dict)
    _looks: dict[Secret, _Look] = field(default_factory=dict)

    def start(self, plans: tuple[RoutePlan, ...]) -> None:
        """Plans that an earlier process left: their files stay."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for plan in plans:
            self._note(plan)

    async def need(self, plan: RoutePlan) -> None:
        """Fetch what was not looked for yet, for a short while at most."""
        self._note(plan)
        fresh = [secret for secret in self._secrets() if secret not in self._looks]
        if not fresh:
            return
        try:
            async with asyncio.timeout(FIRST):
                for secret in fresh:
                    await self._fetch(secret)
        except TimeoutError:
            log.warning("credentials_late", namespace=plan.namespace, workflow=plan.workflow)

    def forget(self, key: WorkflowKey) -> None:
        """The workflow is gone; its files go with the next look."""
        self._plans.pop(key, None)

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            await self.clock.sleep(min(1.0, self.period / 4))
            try:
                await self.look()
            except OSError as error:
                log.warning("credentials_not_written", error=str(error))

    async def look(self) -> None:
        """Fetch what is due, remove what nobody needs."""
        secrets, now = self._secrets(), self.clock.monotonic()
        for secret in secrets:
            known = self._looks.get(secret)
            if known is None or known.due <= now:
                await self._fetch(secret)
        for secret in self._looks.keys() - secrets:
            del self._looks[secret]
        kept = {self._path(one) for one in self._all()}
        for path in self.folder.iterdir():
            if path not in kept and path.is_file():
                path.unlink(missing_ok=True)

    def problems(self) -> list[str]:
        """What is missing, by name."""
        return sorted(look.problem for look in self._looks.values() if look.problem)

    def _note(self, plan: RoutePlan) -> None:
        self._plans[WorkflowKey(plan.namespace, plan.workflow)] = wanted(plan)

    def _all(self) -> set[Wanted]:
        return {one for found in self._plans.values() for one in found}

    def _secrets(self) -> set[Secret]:
        return {one.secret for one in self._all()}

    def _path(self, one: Wanted) -> Path:
        return credential_path(self.folder, *one.secret, one.key)

    async def _fetch(self, secret: Secret) -> None:
        """The files become what the Secret says; what cannot be asked just now stays."""
        keys = [one for one in self._all() if one.secret == secret]
        try:
            data = (await self.api.get(SECRETS, *secret)).get("data") or {}
        except NotFound:
            data, problem = {}, f"Secret {secret.namespace}/{secret.name} does not exist"
        except Forbidden:
            self._told(secret, f"Secret {secret.namespace}/{secret.name} may not be read by this gateway")
            return
        except (SluicegateError, OSError) as error:
            log.debug("secret_not_read", namespace=secret.namespace, secret=secret.name, error=str(error))
            problem = f"Secret {secret.namespace}/{secret.name} could not be asked for just now"
            known = self._looks.get(secret)
            self._told(secret, problem if known is None or known.problem else None, soon=True)
            return
        else:
            absent = sorted(one.key for one in keys if one.key not in data)
            problem = (
                f"Secret {secret.namespace}/{secret.name} has no key {', '.join(absent)}" if absent else ""
            )
        for one in keys:
            self._put(self._path(one), data.get(one.key))
        self._told(secret, problem or None)

    def _told(self, secret: Secret, problem: str | None, *, soon: bool = False) -> None:
        known = self._looks.get(secret)
        if problem != (known.problem if known is not None else None):
            tell = log.warning if problem else log.info
            tell("credentials", namespace=secret.namespace, secret=secret.name, problem=problem)
        wait = min(MISSING, self.period) if problem or soon else self.period
        self._looks[secret] = _Look(self.clock.monotonic() + wait, problem)

    def _put(self, path: Path, value: str | None) -> None:
        try:
            found = base64.b64decode(value) if value is not None else None
        except binascii.Error:
            found = None
        if found is None:
            path.unlink(missing_ok=True)
            return
        if path.exists() and path.read_bytes() == found:
            return
        draft = path.with_suffix(".new")
        draft.unlink(missing_ok=True)
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(found)
        draft.replace(path)
