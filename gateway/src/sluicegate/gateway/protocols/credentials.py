"""Headers that never change, and the bearer token, which is read late and recorded nowhere."""

import os
from collections.abc import Callable

from sluicegate.contracts.resources.workflow import CredentialRef, Endpoint
from sluicegate.contracts.resources.workflow_component import SecretKey
from sluicegate.contracts.runs import Failure
from sluicegate.gateway.protocols.base import CallError
from sluicegate.gateway.protocols.places import CredentialFile, Place, credential_path

JSON = "application/json"


def fixed_headers(endpoint: Endpoint, place: Place) -> Callable[[], dict[str, str]]:
    """A function that gives the headers of every call to an endpoint.

    With `credentialRef` it looks for the token at each call and raises CallError when there is none: Rejected for a
    variable of the environment, Unavailable for a Secret, which may come.
    """
    base = {
        "content-type": JSON,
        "accept": JSON,
        **{name.lower(): value for name, value in endpoint.headers.items()},
    }
    read = _reader(endpoint.credential_ref, place)
    if read is None:
        return lambda: base
    return lambda: {**base, "authorization": f"Bearer {read()}"}


def _reader(reference: CredentialRef | None, place: Place) -> Callable[[], str] | None:
    if reference is None:
        return None
    if reference.secret_key_ref is not None:
        return _of_secret(reference.secret_key_ref, place)
    return _of_variable(reference.env) if reference.env is not None else None


def _of_variable(variable: str) -> Callable[[], str]:
    def read() -> str:
        token = os.environ.get(variable, "").strip()
        if not token:
            message = f"the gateway's environment variable {variable} is not set"
            raise CallError(Failure.REJECTED, message, retryable=False)
        return token

    return read


def _of_secret(reference: SecretKey, place: Place) -> Callable[[], str]:
    name, key = reference.name, reference.key
    message = (
        f"Secret {place.namespace}/{name} has no token under key {key}, or the gateway may not read it"
        if place.credentials is not None
        else f"Secret {place.namespace}/{name} (key {key}) needs a cluster"
    )
    folder = place.credentials
    file = CredentialFile(credential_path(folder, place.namespace, name, key)) if folder is not None else None

    def read() -> str:
        token = file.token() if file is not None else ""
        if not token:
            raise CallError(Failure.UNAVAILABLE, message, retryable=False)
        return token

    return read
