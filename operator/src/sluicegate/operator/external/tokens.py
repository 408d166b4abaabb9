"""Bearer tokens of sources: from the environment of this process, or from Secrets. Read at each use, kept nowhere."""

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from sluicegate.contracts.errors import NotFound
from sluicegate.contracts.resources.source import SourceCredential, SourceSecret


@dataclass(frozen=True, slots=True)
class EnvironmentTokens:
    """`ports.SourceTokens` of local mode."""

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    async def token(self, namespace: str, credential: SourceCredential) -> str:  # noqa: ARG002 - of the port
        """Of a variable; NotFound when it is not set."""
        found = self.environment.get(credential.env or "", "").strip()
        if not found:
            raise NotFound(f"the environment variable {credential.env} is not set")
        return found


def of_secret(namespace: str, reference: SourceSecret, data: Mapping[str, str]) -> str:
    """The token in the data of a Secret; NotFound when the key is absent or holds no text."""
    try:
        found = base64.b64decode(data.get(reference.key) or "", validate=True).decode("ascii").strip()
    except (binascii.Error, UnicodeDecodeError):
        found = ""
    if not found:
        raise NotFound(f"Secret {namespace}/{reference.name} has no token under {reference.key}")
    return found
