"""Evidence from elsewhere: providers behind one port, and the pool that measures beside the control loop."""

from sluicegate.operator.external.http import Fetcher
from sluicegate.operator.external.prometheus import PrometheusEvidence
from sluicegate.operator.external.web import WebEvidence
from sluicegate.operator.ports import ExternalEvidence


def providers(fetcher: Fetcher) -> dict[str, ExternalEvidence]:
    """By their names in a `source`."""
    return {"prometheus": PrometheusEvidence(fetcher), "web": WebEvidence(fetcher)}
