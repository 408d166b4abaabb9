"""Headers that never change, and the bearer token, which is read late and recorded nowhere."""

import os
from collections.abc import Callable

from sluicegate.contracts.resources.workflow import Endpoint
from sluicegate.contracts.runs import Failure
from sluicegate.gateway.protocols.base import CallError

JSON = "application/json"


def fixed_headers(endpoint: Endpoint) -> Callable[[], dict[str, str]]:
    """A function that gives the headers of every call to an endpoint.

    With `credentialRef.env` it reads the variable at each call and raises CallError when it is not set.
    """
    base = {
        "content-type": JSON,
        "accept": JSON,
        **{name.lower(): value for name, value in endpoint.headers.items()},
    }
    variable = endpoint.credential_ref.env if endpoint.credential_ref is not None else None
    if variable is None:
        return lambda: base

    def with_token() -> dict[str, str]:
        token = os.environ.get(variable, "").strip()
        if not token:
            message = f"the gateway's environment variable {variable} is not set"
            raise CallError(Failure.REJECTED, message, retryable=False)
        return {**base, "authorization": f"Bearer {token}"}

    return with_token
