"""Helm's own engine on the project's chart. The only module that knows helm_python."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import helm_python
import yaml

CHART = Path(__file__).parents[2] / "charts" / "sluicegate"
NAMESPACE = "sluicegate-system"
Manifest = dict[str, Any]

helm_python.disable_logging()


class WrongValues(Exception):  # noqa: N818 - what Helm says
    """Helm refuses the values, and says where."""


def render(values: Mapping[str, Any] | None = None, *, namespace: str = NAMESPACE) -> list[Manifest]:
    """What `helm install sluicegate charts/sluicegate -n NAMESPACE` applies besides crds/; WrongValues."""
    found = _rendered(values, namespace)
    texts = [text for name, text in sorted(found.items()) if not name.endswith(".txt")]
    return [item for text in texts for item in yaml.safe_load_all(text) if item]


def notes(values: Mapping[str, Any] | None = None) -> str:
    """What Helm tells after an installation."""
    return next(text for name, text in _rendered(values, NAMESPACE).items() if name.endswith("NOTES.txt"))


def crds() -> dict[str, str]:
    """File name to text, as Helm finds them in the chart."""
    with helm_python.Chart.load(CHART) as chart:
        return {Path(item["name"]).name: item["data"] for item in chart.crds}


def lint() -> list[str]:
    """Findings of `helm lint --strict`."""
    report = helm_python.lint(CHART, strict=True)
    worst = [f"{item['path']}: {item['error']}" for item in report["messages"] if item["severity"] >= 2]
    return [*worst, *report["errors"]]


def defaults() -> dict[str, Any]:
    """The chart's values."""
    with helm_python.Chart.load(CHART) as chart:
        return chart.values


def package(folder: Path) -> Path:
    """The archive that `helm package` makes in `folder`."""
    return Path(helm_python.package(CHART, destination=folder))


def placed(manifests: list[Manifest], namespace: str = NAMESPACE) -> list[Manifest]:
    """With the release's namespace written out, for who applies them without Helm."""
    return [
        item if _is_placed(item) else {**item, "metadata": {**item["metadata"], "namespace": namespace}}
        for item in manifests
    ]


_CLUSTER = (
    "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
)  # fmt: skip


def _is_placed(item: Manifest) -> bool:
    return item["kind"] in _CLUSTER or "namespace" in item["metadata"]


def _rendered(values: Mapping[str, Any] | None, namespace: str) -> dict[str, str]:
    return _of(json.dumps(values or {}), namespace)


@cache
def _of(values: str, namespace: str) -> dict[str, str]:
    with helm_python.Chart.load(CHART) as chart:
        given = json.loads(values)
        try:
            chart.validate_schema(given)
            return chart.render(given, name="sluicegate", namespace=namespace)
        except (helm_python.HelmValuesError, helm_python.HelmRenderError) as error:
            raise WrongValues(str(error)) from error
