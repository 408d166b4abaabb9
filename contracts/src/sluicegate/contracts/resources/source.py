"""Where the evidence of a gate is measured that Sluicegate does not count itself: Prometheus, a JSON document, or a Job."""

from typing import Annotated, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import Decimals, Model, Name

_URL = r"^https?://[^\s]+$"
Url = Annotated[str, Field(strict=True, max_length=2048, pattern=_URL)]
Query = Annotated[str, Field(strict=True, min_length=1, max_length=4096)]
_Key = Annotated[str, Field(strict=True, min_length=1, max_length=253)]
_Env = Annotated[str, Field(strict=True, max_length=256, pattern=r"^SLUICEGATE_SOURCE_[A-Z0-9_]+$")]


class SourceSecret(Model):
    """A key of a Secret in the workflow's namespace."""

    name: Name
    """Of the Secret; the operator's account must be allowed to get it."""
    key: _Key
    """In it."""


class SourceCredential(Model):
    """Where the bearer token of a source is."""

    env: _Env | None = None
    """Environment variable of the control loop, named SLUICEGATE_SOURCE_… so that no other can be sent away."""
    secret_key_ref: SourceSecret | None = None
    """Needs a cluster, refused in local mode."""


class Limit(Model):
    """What a measured value must keep. Judged by measurements in a row; it has no error rate."""

    min: Decimals | None = None
    """The candidate's value must not be below."""
    max: Decimals | None = None
    """The candidate's value must not be above."""
    above_stable: Decimals | None = None
    """The candidate's value must not be above stable's by more than this, in the value's own unit."""
    below_stable: Decimals | None = None
    """The candidate's value must not be below stable's by more than this, in the value's own unit."""


class PrometheusSource(Model):
    """Instant queries to the HTTP API of Prometheus; each must answer one number for one arm.

    Either `bad` and `total`, or `value`. `{{arm}}`, `{{version}}`, `{{revision}}`, `{{backend}}`, `{{workflow}}`,
    `{{namespace}}` and `{{stage}}` are filled in.
    """

    url: Url
    """Base of the server, as `http://prometheus:9090`; redirects are not followed."""
    bad: Query | None = None
    """Counter of what went wrong, a whole number that only grows. Its increments are tested; recommended."""
    total: Query | None = None
    """Counter of all, among them the bad ones."""
    value: Query | None = None
    """A number that is compared with `limit`."""
    samples: Query | None = None
    """With `value`: how many things it was measured on; see `minSamples`."""


class WebSource(Model):
    """A JSON document, fetched by GET once for each arm; its fields are named by paths such as `data.items[0].errors`.

    Either `bad` and `total`, or `value`. Placeholders in the URL are those of Prometheus.
    """

    url: Url
    """Of the document; redirects are not followed."""
    bad: Query | None = None
    """Path of the counter of what went wrong."""
    total: Query | None = None
    """Path of the counter of all."""
    value: Query | None = None
    """Path of the number that is compared with `limit`."""
    samples: Query | None = None
    """With `value`: path of how many things it was measured on."""


class JobVariable(Model):
    """A variable of a Job's environment: `value` or `secretKeyRef`."""

    name: Annotated[str, Field(strict=True, max_length=256, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    """Of the variable. `SLUICEGATE_RESULT` is set already: the file that takes the result."""
    value: Annotated[str, Field(strict=True, max_length=4096)] | None = None
    """Placeholders are filled in."""
    secret_key_ref: SourceSecret | None = None
    """Needs a cluster, refused in local mode; the operator never reads it."""


class JobResources(Model):
    """What the container may use; requested and limited alike."""

    cpu: Annotated[str, Field(strict=True, max_length=16, pattern=r"^([0-9]+m|[0-9]+(\.[0-9]{1,3})?)$")] = (
        "500m"
    )
    """In cores or thousandths."""
    memory: Annotated[str, Field(strict=True, max_length=16, pattern=r"^[1-9][0-9]*(Ki|Mi|Gi)$")] = "256Mi"
    """In bytes, with a unit of 1024."""


class JobSource(Model):
    """A Job of one container for each look and arm: no service account token, nothing of the host, no rights on the node.

    Whoever writes it must be allowed to create Jobs in the namespace. Placeholders in `command`, `args` and `env` are those of
    Prometheus. In local mode `command` is a process of this machine, where `sluicegate up --allow-jobs` allows it.
    """

    image: Annotated[str, Field(strict=True, min_length=1, max_length=512, pattern=r"^[^\s]+$")]
    """Of the container; without a meaning in local mode."""
    command: Annotated[tuple[Query, ...], Field(max_length=64)] = ()
    """Instead of the image's entry point; required in local mode."""
    args: Annotated[tuple[Query, ...], Field(max_length=64)] = ()
    """After it."""
    env: Annotated[tuple[JobVariable, ...], Field(max_length=64)] = ()
    """Of the container, and nothing else of the operator's."""
    resources: JobResources = JobResources()
    """Of the container."""
    run_as_user: Annotated[int, Field(strict=True, ge=1, le=2_147_483_647)] = 65_534
    """Never root."""
    timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] = 300
    """From its creation; what has not ended then is ended, and is no evidence."""
    result: Literal["Counts", "Value"] | None = None
    """What the last line of the file `$SLUICEGATE_RESULT` (the pod's termination message) says as JSON. Counts: `{"bad": 3, "total": 500}` of this
    run, which are tested. Value: `{"value": 0.31}`, which is compared with `limit`. Absent: completed or failed."""


class Source(Model):
    """Evidence from elsewhere. Missing, stale, partial or non-finite answers never pass, whoever gives them."""

    prometheus: PrometheusSource | None = None
    """Asked by PromQL."""
    web: WebSource | None = None
    """Asked for JSON."""
    job: JobSource | None = None
    """Run, again for each look."""
    credential_ref: SourceCredential | None = None
    """Where the bearer token is; not with `job`."""
    limit: Limit | None = None
    """With `value`: required. With `bad` and `total`: at most `max`, the largest rate; absent: compared with stable by the gate's `margin`."""
    min_samples: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)] | None = None
    """Of the candidate, before the gate may pass or fail; with `value` it needs `samples`."""
    consecutive: Annotated[int, Field(strict=True, ge=1, le=100)] = 3
    """With `value`: so many measurements in a row on one side of the limit decide."""
    interval_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] = 30
    """Time between two measurements."""
    timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=60)] = 10
    """Longest time that one measurement may take; of a Job its own `timeoutSeconds`."""
    max_age_seconds: Annotated[int, Field(strict=True, ge=1, le=86_400)] = 120
    """Older samples, and older measurements, count as stale."""
    error_limit: Annotated[int, Field(strict=True, ge=1, le=1000)] = 5
    """So many failures of the provider in a row make the verdict Error; below, the gate waits."""
