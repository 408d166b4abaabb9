"""Names that operator, gateways, chart and policies agree on."""

from typing import Final

from sluicegate.contracts.resources.base import GROUP

SYSTEM_NAMESPACE: Final = "sluicegate-system"
OPERATOR_ACCOUNT: Final = "sluicegate-operator"
GATEWAY_ACCOUNT: Final = "sluicegate-gateway"
LINEAGE_ACCOUNT: Final = "sluicegate-lineage"

LEADER_LEASE: Final = "sluicegate-operator"
WEBHOOK_SECRET: Final = "sluicegate-webhook"  # noqa: S105 - the name of a Secret
WEBHOOK_SERVICE: Final = "sluicegate-webhook"
WEBHOOKS: Final = "sluicegate"
"""Of the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration."""

PLAN_LABEL: Final = f"{GROUP}/plan"  # on plan ConfigMaps; value: the workflow's name
GATEWAY_LABEL: Final = f"{GROUP}/gateway"  # on a gateway's Lease; value: "true"
APPLIED: Final = f"{GROUP}/applied"  # annotation of a gateway's Lease
SERVES: Final = f"{GROUP}/serves"  # annotation of a gateway's Lease: namespaces, comma separated, or *

CHILDREN: Final = "sluicegate-children"
STATUS: Final = "sluicegate-status"
FINALIZERS: Final = "sluicegate-finalizer"
PLANS: Final = "sluicegate-plans"
ROUTES: Final = "sluicegate-routes"
GATEWAY: Final = "sluicegate-gateway"
ELECTOR: Final = "sluicegate-elector"
EVENTS: Final = "sluicegate-events"
CERTIFICATES: Final = "sluicegate-certificates"
"""Field managers, one per concern."""


def account(name: str, namespace: str = SYSTEM_NAMESPACE) -> str:
    """The user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def plan_name(workflow: str) -> str:
    """The ConfigMap of a workflow's plan."""
    return f"sluicegate-plan-{workflow}"
