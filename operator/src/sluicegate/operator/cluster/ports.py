"""What the cluster's adapters need of the Kubernetes API: JSON in, JSON out, errors of `contracts.errors`.

    409 Conflict          Conflict        404 NotFound            NotFound
    410 Gone, Expired     store.Expired   403 Forbidden           Forbidden (one Problem with the server's message)
    400, 422 Invalid      Refused (one Problem per cause)         429, 5xx, no answer in time   Unavailable
    401 Unauthorized      Forbidden                               404 of a kind that is not served   NotServed

Reads and applies are tried again inside (429 with Retry-After, 5xx, no connection), within the call's deadline; a create or
a delete that may have happened is tried again too, and its own echo (AlreadyExists, NotFound) is told as such.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.resources.base import GROUP
from sluicegate.operator.ports import ChangeType, Json


class NotServed(Unavailable):
    """The API server does not know the kind: there is no object of it. It may be installed later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A kind of the Kubernetes API."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As in manifests."""
        return f"{self.group}/{self.version}" if self.group else self.version


CONFIG_MAPS: Final = Api(group="", version="v1", kind="ConfigMap", plural="configmaps")
SECRETS: Final = Api(group="", version="v1", kind="Secret", plural="secrets")
LEASES: Final = Api(group="coordination.k8s.io", version="v1", kind="Lease", plural="leases")
EVENTS: Final = Api(group="events.k8s.io", version="v1", kind="Event", plural="events")
JOBS: Final = Api(group="batch", version="v1", kind="Job", plural="jobs")
PODS: Final = Api(group="", version="v1", kind="Pod", plural="pods")
HTTP_ROUTES: Final = Api(
    group="gateway.networking.k8s.io", version="v1", kind="HTTPRoute", plural="httproutes"
)
VALIDATING_WEBHOOKS: Final = Api(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="ValidatingWebhookConfiguration",
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
MUTATING_WEBHOOKS: Final = Api(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="MutatingWebhookConfiguration",
    plural="mutatingwebhookconfigurations",
    namespaced=False,
)
TOKEN_REVIEWS: Final = Api(
    group="authentication.k8s.io", version="v1", kind="TokenReview", plural="tokenreviews", namespaced=False
)
ACCESS_REVIEWS: Final = Api(
    group="authorization.k8s.io",
    version="v1",
    kind="SubjectAccessReview",
    plural="subjectaccessreviews",
    namespaced=False,
)
SELF_REVIEWS: Final = Api(
    group="authorization.k8s.io",
    version="v1",
    kind="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
    namespaced=False,
)


def own(kind: str) -> Api:
    """One of our kinds."""
    named = KINDS[kind]
    return Api(
        group=GROUP,
        version="v1alpha1",
        kind=kind,
        plural=named.plural,
        namespaced=named.scope == "Namespaced",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A list as of `version` (a resourceVersion). items: can be walked through more than once."""

    items: Iterable[Json]
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One event of a watch. item is None for a bookmark: nothing is missing up to `version`."""

    type: ChangeType | None
    item: Json | None
    version: str


class KubeReader(Protocol):
    """Reads straight from the API server."""

    async def get(self, api: Api, namespace: str | None, name: str) -> Json:
        """The object, or NotFound."""
        ...

    async def list(
        self, api: Api, namespace: str | None = None, *, labels: Mapping[str, str] | None = None
    ) -> Page:
        """All of them; all namespaces when None."""
        ...

    def watch(
        self, api: Api, namespace: str | None = None, *, labels: Mapping[str, str] | None = None, after: str
    ) -> AsyncIterator[Seen]:
        """Changes after `after`, with bookmarks, until the stream ends (then watch again from the last version);
        store.Expired when that is too long ago: list again.
        """
        ...


class KubeWriter(Protocol):
    """Writes; `manager` is the field manager."""

    async def create(self, api: Api, item: Json, *, manager: str) -> Json:
        """As stored; Conflict when the name is taken."""
        ...

    async def apply(self, api: Api, item: Json, *, manager: str, subresource: str | None = None) -> Json:
        """Server-side apply, forced: afterwards the fields of `item` are ours and as given, and fields of ours that are
        not in it are gone. uid and resourceVersion in its metadata are preconditions (Conflict).
        """
        ...

    async def replace(self, api: Api, item: Json, *, manager: str) -> Json:
        """PUT; Conflict when its resourceVersion is not current."""
        ...

    async def patch(
        self, api: Api, namespace: str | None, name: str, operations: Sequence[Json], *, manager: str
    ) -> Json:
        """JSON patch (RFC 6902); a failed `test` is a Conflict."""
        ...

    async def delete(
        self, api: Api, namespace: str | None, name: str, *, uid: str | None = None
    ) -> Json | None:
        """Dependents go in the background. What is left of the object while finalizers hold it, None when it is gone.
        NotFound when absent; Conflict when `uid` is given and differs.
        """
        ...

    async def review(self, api: Api, item: Json) -> Json:
        """POST that stores nothing: TokenReview, SubjectAccessReview, SelfSubjectAccessReview."""
        ...


class KubeApi(KubeReader, KubeWriter, Protocol):
    """All of it."""


class Fence(Protocol):
    """Whether this process may still write as leader."""

    def epoch(self) -> int:
        """Of the present leadership. NotLeading when it is not certain any more."""
        ...
