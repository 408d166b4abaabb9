"""Canonical JSON (RFC 8785) and digests."""

import hashlib
from typing import Any

import rfc8785

from sluicegate.contracts.resources.workflow import WorkflowSpec

RUN_FIELDS = frozenset(
    {"runtime", "components", "steps", "output", "reward", "contract", "business_fallback"}
)
"""What a run depends on. Not the label `version`, not how the change reaches the users, not what is kept of runs."""

_EXCLUDED: dict[str, Any] = {"business_fallback": {"drill"}}
"""When the fallback is rehearsed changes no run."""
_INCLUDED: dict[str, Any] = {**dict.fromkeys(RUN_FIELDS, True), "service": {"backend"}}
"""Of runtime Service: what answers, not the route on which its traffic comes in."""


def canonical(value: Any) -> bytes:
    """RFC 8785. ValueError for what JSON cannot carry exactly: NaN, infinities, whole numbers beyond 2^53 - 1."""
    return rfc8785.dumps(value)


def digest_of(value: Any) -> str:
    """``sha256:<hex>`` of the canonical form."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def revision_digest(spec: WorkflowSpec) -> str:
    """Digest of everything that a run depends on.

    A field written with its default value digests as an absent one, so a later version of the product with new
    optional fields gives old files the same digest.
    """
    return digest_of(
        spec.model_dump(
            mode="json", by_alias=True, include=_INCLUDED, exclude=_EXCLUDED, exclude_defaults=True
        )
    )
