"""A cluster instead of `sluicegate up`: the same commands through a Kubernetes API server."""

from typing import TYPE_CHECKING

from sluicegate.contracts.errors import Problem, Refused

if TYPE_CHECKING:
    from sluicegate.console.cluster.client import ClusterClient
    from sluicegate.console.places import Place


def connect(place: "Place", *, timeout: float = 30.0) -> "tuple[ClusterClient, str]":
    """The client of the place's cluster, and the namespace of its context. Nothing is sent yet.

    Refused: no such kubeconfig or context, or the extra is not installed.
    """
    try:
        import kubernetes  # noqa: F401 - whether it is there
    except ImportError:
        problem = Problem(
            path="sluicegate[kubernetes]",
            message="a cluster needs the package kubernetes, which is not installed",
            hint="pip install 'sluicegate[kubernetes]'",
        )
        raise Refused((problem,)) from None
    from sluicegate.console.cluster.access import access
    from sluicegate.console.cluster.client import ClusterClient
    from sluicegate.console.cluster.https import Https
    from sluicegate.console.cluster.lineage import lineage_of

    found = access(place.kubeconfig, place.context)
    https = Https(found, act_as=place.act_as, timeout=timeout)
    return ClusterClient(https, found, lineage_of(place, https, timeout=timeout)), found.namespace
