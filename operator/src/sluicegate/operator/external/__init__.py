"""Evidence from elsewhere: providers behind one port, and the pool that measures beside the control loop."""

from sluicegate.operator.external.http import Fetcher
from sluicegate.operator.external.processes import RefusedJobs
from sluicegate.operator.external.prometheus import PrometheusEvidence
from sluicegate.operator.external.web import WebEvidence
from sluicegate.operator.ports import ExternalEvidence


def providers(fetcher: Fetcher, jobs: ExternalEvidence | None = None) -> dict[str, ExternalEvidence]:
    """By their names in a `source`. jobs: who runs them; None: nobody may."""
    return {
        "prometheus": PrometheusEvidence(fetcher),
        "web": WebEvidence(fetcher),
        "job": jobs or RefusedJobs(),
    }
