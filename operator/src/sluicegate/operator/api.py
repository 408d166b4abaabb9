"""The resource API of local mode: kube-shaped REST on a Unix socket; the peer's credentials are the caller.

Bodies are JSON. `BASE` is ``/apis/sluicegate.io/v1alpha1``. Objects, lists and errors have the shape of the
Kubernetes API: a list is ``{"kind": "<Kind>List", "metadata": {"resourceVersion"}, "items": [...]}``, an
error is a ``Status`` with ``reason``, ``code``, ``message`` and ``details.causes`` = every Problem at once:
``{"reason": "FieldValueInvalid", "field": path, "message", "value", "allowed", "hint", "line", "source"}``.

| method and path | query | what it does |
|---|---|---|
| GET /healthz | | 200 while the process lives |
| GET /readyz | | 200 when the loop runs and every gateway worker answers, else 503 with the reasons |
| GET /version | | ``{"version", "pid", "startedAt", "gatewayUrl", "metricsUrl", "stateDir"}`` |
| GET /whoami | | ``{"name", "user", "uid"}``: who the API takes the caller for |
| POST BASE/apply | dryRun=All | ``{"documents": [...]}``: all validated and admitted, then written in one commit or not at all |
| GET BASE/{plural} | labelSelector | list in all namespaces |
| GET BASE/{plural} | watch=1, resourceVersion, timeoutSeconds | stream of ``{"type", "object"}``, one JSON per line; 410 when too old |
| GET BASE/namespaces/{ns}/{plural} | same two | list or watch in a namespace |
| POST BASE/namespaces/{ns}/{plural} | dryRun=All | create; 409 AlreadyExists |
| GET BASE/namespaces/{ns}/{plural}/{name} | | the object |
| PUT BASE/namespaces/{ns}/{plural}/{name} | dryRun=All | replace; metadata.resourceVersion, when given, must be current |
| PUT BASE/namespaces/{ns}/{plural}/{name} | apply=1, dryRun=All | create or update: spec and labels as given, annotations merged |
| DELETE BASE/namespaces/{ns}/{plural}/{name} | dryRun=All, uid | ask for deletion; answers with the object (deletionTimestamp) |
| PUT BASE/namespaces/{ns}/{plural}/{name}/status | | 403: status is the operator's |
| GET /events | namespace, workflow, kind, name, limit | ``{"items": [{type, reason, message, count, firstAt, lastAt, about}]}``, newest first |
| GET /lineage/runs | namespace, workflow, arm, outcome, stage, rollout, revision, fallback, since, limit | ``{"items": [summary]}``, newest first |
| GET /lineage/runs/{id} | | ``{"items": [run document, one per arm]}``; 404 |
| GET /lineage/fallbacks | rollout (uid) or workflow, limit | ``{"items": [{runId, component, reason, strategy, request, response}]}``: fallbacks to review |
| GET /lineage/counts | | ``{...}``: what the store holds |

An apply answers ``{"kind": "ApplyResult", "dryRun": bool, "items": [{"operation": "created" | "configured" |
"unchanged", "object", "previous", "warnings": [str]}]}``: `previous` is the stored object, for a diff.

``Decision.spec.decidedBy`` is filled with the caller when absent; another name is refused. The header
``Sluicegate-As: alice`` (root, or the user who runs `up`) acts in another name: the caller is then
``alice (by root)`` everywhere. Every object that a person writes carries annotation ``sluicegate.io/changed-by``.
"""

BASE = "/apis/sluicegate.io/v1alpha1"
CHANGED_BY = "sluicegate.io/changed-by"
AS_HEADER = "Sluicegate-As"
MAX_BODY = 8 * 1024 * 1024
"""Bytes of one request; beyond it 413."""
