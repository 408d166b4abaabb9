"""Recorded runs of a cluster: from the lineage process, at an address of its own or through the API server.

The API server takes `Authorization` off before it passes a request on, so the token goes in a second header as well.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sluicegate.console.answers import decode, status_error
from sluicegate.console.client import Object, items_of
from sluicegate.console.transport import Call, Transport, checked_url
from sluicegate.contracts.errors import Forbidden, Problem, Unavailable
from sluicegate.operator.cluster.names import LINEAGE_ACCOUNT, SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from sluicegate.console.cluster.https import Https
    from sluicegate.console.places import Place

HEADER = "Sluicegate-Authorization"
TOKEN = "SLUICEGATE_LINEAGE_TOKEN"  # noqa: S105 - a variable's name
PORT = "http"
"""Name of the Service's port."""


def lineage_of(place: "Place", https: "Https", *, timeout: float) -> "Lineage":
    """At --lineage-url, else through the API server."""
    token = os.environ.get(TOKEN)
    header = f"Bearer {token}" if token else None
    if place.lineage_url is None:
        service = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/services/http:{LINEAGE_ACCOUNT}:{PORT}/proxy"
        where = f"service {LINEAGE_ACCOUNT} in namespace {SYSTEM_NAMESPACE}"
        return Lineage(https, service, where, https.access, header)
    direct = https.to(checked_url("--lineage-url", place.lineage_url), timeout=timeout)
    return Lineage(direct, "", place.lineage_url, https.access, header)


class Lineage:
    """Asks in the caller's name. prefix: of paths. place: in words. header: instead of the kubeconfig's token."""

    def __init__(
        self, transport: Transport, prefix: str, place: str, access: Any, header: str | None
    ) -> None:
        self._transport, self._prefix, self._place = transport, prefix, place
        self._access, self._own = access, header

    def runs(self, query: Mapping[str, Any]) -> list[Object]:
        """Summaries, newest first."""
        return self._ask("/v1/runs", query)

    def run(self, run_id: str) -> list[Object]:
        """Documents of one run."""
        return self._ask(f"/v1/runs/{quote(run_id, safe='')}", {})

    def fallbacks(self, query: Mapping[str, Any]) -> list[Object]:
        """Fallbacks that wait for a review."""
        return self._ask("/v1/fallbacks", query)

    def ablated(self, query: Mapping[str, Any]) -> list[Object]:
        """Ablated units by coalition."""
        return self._ask("/v1/ablated", query)

    def units(self, query: Mapping[str, Any]) -> list[Object]:
        """Closed units, in the order of the store."""
        return self._ask("/v1/units", query)

    def _ask(self, path: str, query: Mapping[str, Any]) -> list[Object]:
        header = self._own or self._access.authorization()
        if header is None:
            raise Forbidden((self._no_token(),))
        kept = {key: str(value) for key, value in query.items() if value is not None}
        headers = {HEADER: header} | ({} if self._prefix else {"Authorization": header})
        with self._transport.open(
            Call(method="GET", path=self._prefix + path, query=kept, headers=headers)
        ) as answer:
            body = decode(answer.read())
        if answer.status >= 400:
            raise self._error(answer.status, body)
        return items_of(body) if isinstance(body, dict) else []

    def _no_token(self) -> Problem:
        return Problem(
            path="credentials",
            message=f"recorded runs are read with a token, and user {self._access.user} has a client certificate",
            hint=f"{TOKEN}=$(kubectl create token ACCOUNT -n NAMESPACE), of an account that may read runs",
        )

    def _error(self, status: int, body: Any) -> Exception:
        details = body.get("details") or {} if isinstance(body, dict) else {}
        message = str(body.get("message") or "") if isinstance(body, dict) else str(body)
        if self._prefix and details.get("kind") == "services":
            if status == 403:
                text = f"{self._access.user} may not reach the {self._place} through the API server"
                return Forbidden(
                    (
                        Problem(
                            path="lineage", message=text, hint="ask for the role, or give --lineage-url URL"
                        ),
                    )
                )
            return Unavailable(
                f"no lineage process: {message}; is the chart installed? or give --lineage-url"
            )
        if status in {502, 503}:
            return Unavailable(f"the lineage process ({self._place}) does not answer: {message}")
        return status_error(status, body)
