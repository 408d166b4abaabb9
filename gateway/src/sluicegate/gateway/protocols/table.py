"""Which protocol speaks how."""

from collections.abc import Callable

from sluicegate.contracts.resources.workflow import Component, Endpoint, Protocol
from sluicegate.gateway.protocols.base import ComponentProtocol
from sluicegate.gateway.protocols.http import HttpProtocol
from sluicegate.gateway.protocols.native import NativeProtocol
from sluicegate.gateway.protocols.openai import OpenAIProtocol

PROTOCOLS: dict[Protocol, Callable[[Component, Endpoint], ComponentProtocol]] = {
    Protocol.NATIVE: NativeProtocol,
    Protocol.HTTP: HttpProtocol,
    Protocol.OPENAI: OpenAIProtocol,
}
