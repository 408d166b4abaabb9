"""Keeps the webhook's certificates: one Secret for all replicas, its authorities in both webhook configurations.

Whoever comes first writes (compare-and-swap); everybody else loads what is there. An emptied or deleted Secret is written
back from memory, an emptied caBundle is filled again.
"""

import asyncio
import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import structlog

from sluicegate.contracts.adapters.system import Clock
from sluicegate.contracts.errors import Conflict, NotFound, SluicegateError
from sluicegate.operator.cluster import certificates, names
from sluicegate.operator.cluster.certificates import Ages, Certificates, Pair
from sluicegate.operator.cluster.ports import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS, Api, KubeApi
from sluicegate.operator.ports import Json

LOOK_SECONDS: Final = 20.0
_TRIES: Final = 5
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """How the API server reaches the webhook: the Service beside the operator, or a URL outside the cluster."""

    namespace: str
    url: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """What the certificate has to be for."""
        service = f"{names.WEBHOOK_SERVICE}.{self.namespace}.svc"
        host = urlsplit(self.url).hostname if self.url else None
        return frozenset((service, f"{service}.cluster.local", *((host,) if host else ())))


@dataclass(slots=True, kw_only=True)
class Keeper:
    """`once` makes everything right; `run` goes on doing so. serve: takes the certificate to answer with."""

    api: KubeApi
    address: Address
    clock: Clock
    serve: Callable[[Pair], None]
    ages: Ages = field(default_factory=Ages)
    _present: Certificates | None = None

    @property
    def served(self) -> Pair | None:
        """The certificate that is answered with."""
        return self._present.leaf if self._present else None

    async def run(self) -> None:
        """For ever; what fails is tried again at the next look."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.once()
            except SluicegateError as error:
                log.warning("certificates_not_kept", reason=str(error))

    async def once(self) -> None:
        """The Secret, then whom to trust, then what to answer with: in this order no request fails."""
        present = await self._kept()
        for api in (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS):
            await self._publish(api, present.bundle)
        if self._present is None or self._present.leaf != present.leaf:
            self.serve(present.leaf)
            log.info("certificate_served", until=certificates.expires(present.leaf).isoformat())
        self._present = present

    async def _kept(self) -> Certificates:
        for left in reversed(range(_TRIES)):
            item = await self._held()
            held = _read(item) or self._present
            wanted = certificates.kept(held, self.address.names, self.clock.now(), self.ages)
            if item is not None and _read(item) == wanted:
                return wanted
            try:
                await self._write(item, wanted)
            except Conflict:
                if not left:
                    raise
            else:
                log.info("certificates_written", existed=item is not None)
                return wanted
        raise AssertionError

    async def _held(self) -> Json | None:
        try:
            return await self.api.get(SECRETS, self.address.namespace, names.WEBHOOK_SECRET)
        except NotFound:
            return None

    async def _write(self, item: Json | None, wanted: Certificates) -> None:
        if item is None:
            metadata = {"name": names.WEBHOOK_SECRET, "namespace": self.address.namespace}
            made: Json = {"metadata": metadata, "type": "Opaque", "data": _data(wanted)}
            await self.api.create(SECRETS, made, manager=names.CERTIFICATES)
        else:
            await self.api.replace(SECRETS, {**item, "data": _data(wanted)}, manager=names.CERTIFICATES)

    async def _publish(self, api: Api, bundle: str) -> None:
        try:
            item = await self.api.get(api, None, names.WEBHOOKS)
        except NotFound:
            return  # the chart was told to do without
        operations = list(changes(item, bundle, self.address.url))
        if operations:
            await self.api.patch(api, None, names.WEBHOOKS, operations, manager=names.CERTIFICATES)
            log.info("authorities_published", kind=api.kind)


def changes(item: Json, bundle: str, url: str | None) -> Iterator[Json]:
    """The JSON patch that makes every webhook of a configuration reach us and trust `bundle`."""
    trusted = _encoded(bundle)
    for place, hook in enumerate(item.get("webhooks") or ()):
        client = hook.get("clientConfig") or {}
        wanted = {**client, "caBundle": trusted}
        if url is not None:
            path = (client.get("service") or {}).get("path") or urlsplit(client.get("url") or "").path
            wanted = {"url": f"{url.rstrip('/')}{path}", "caBundle": trusted}
        if client != wanted:
            yield {"op": "test", "path": f"/webhooks/{place}/name", "value": hook["name"]}
            yield {"op": "replace", "path": f"/webhooks/{place}/clientConfig", "value": wanted}


def _data(held: Certificates) -> dict[str, str]:
    upcoming = held.upcoming or Pair("", "")
    texts = {
        "tls.crt": held.leaf.certificate,
        "tls.key": held.leaf.key,
        "authority.crt": held.authority.certificate,
        "authority.key": held.authority.key,
        "upcoming.crt": upcoming.certificate,
        "upcoming.key": upcoming.key,
        "former.crt": "".join(held.former),
    }
    return {name: _encoded(text) for name, text in texts.items() if text}


def _read(item: Json | None) -> Certificates | None:
    """What the Secret holds; None when something is missing or no text."""
    data = (item or {}).get("data") or {}
    try:
        texts = {name: base64.b64decode(value, validate=True).decode() for name, value in data.items()}
        upcoming = Pair(texts["upcoming.crt"], texts["upcoming.key"]) if "upcoming.crt" in texts else None
        return Certificates(
            authority=Pair(texts["authority.crt"], texts["authority.key"]),
            leaf=Pair(texts["tls.crt"], texts["tls.key"]),
            upcoming=upcoming,
            former=tuple(f"{one}{_END}" for one in texts.get("former.crt", "").split(_END)[:-1]),
        )
    except (KeyError, ValueError, binascii.Error):
        return None


_END: Final = "-----END CERTIFICATE-----\n"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
