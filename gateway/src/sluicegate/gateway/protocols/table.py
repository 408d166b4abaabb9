"""Which protocol speaks how."""

from collections.abc import Callable

from sluicegate.contracts.resources.workflow import Component, Endpoint, Protocol
from sluicegate.gateway.protocols.base import ComponentProtocol
from sluicegate.gateway.protocols.http import HttpProtocol
from sluicegate.gateway.protocols.native import NativeProtocol
from sluicegate.gateway.protocols.openai import OpenAIProtocol
from sluicegate.gateway.protocols.places import Place

PROTOCOLS: dict[Protocol, Callable[[Component, Endpoint, Place], ComponentProtocol]] = {
    Protocol.NATIVE: NativeProtocol,
    Protocol.HTTP: HttpProtocol,
    Protocol.OPENAI: OpenAIProtocol,
}
