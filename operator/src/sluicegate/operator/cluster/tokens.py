"""Bearer tokens of sources, from Secrets: exactly those that a source names are read, by `get`, at each measurement.

The chart grants none of it: whoever writes the workflow gives the operator's account a Role on that one Secret.
"""

from sluicegate.contracts.errors import NotFound
from sluicegate.contracts.resources.source import SourceCredential
from sluicegate.operator.cluster.ports import SECRETS, KubeReader
from sluicegate.operator.external.tokens import of_secret


class ClusterTokens:
    """`ports.SourceTokens`."""

    def __init__(self, api: KubeReader) -> None:
        self._api = api

    async def token(self, namespace: str, credential: SourceCredential) -> str:
        """Of a Secret in the workflow's namespace; never of the operator's environment, which is not the workflow's."""
        reference = credential.secret_key_ref
        if reference is None:
            raise NotFound("credentialRef.env is for local mode; use secretKeyRef")
        try:
            held = await self._api.get(SECRETS, namespace, reference.name)
        except NotFound as error:
            raise NotFound(f"Secret {namespace}/{reference.name} does not exist") from error
        return of_secret(namespace, reference, held.get("data") or {})
