"""What applying a file would change, as a diff and in words. Pure."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from sluicegate.console.client import Applied, Object
from sluicegate.console.output import as_yaml, name_of


def unified(applied: Applied) -> str:
    """Unified diff of spec and labels, live against what the server would store; empty when equal."""
    before, after = _shown(applied.previous), _shown(applied.object)
    label = name_of(applied.object)
    lines = difflib.unified_diff(before, after, f"live/{label}", f"wish/{label}", lineterm="")
    return "\n".join(lines)


def _shown(item: Object | None) -> list[str]:
    if item is None:
        return []
    kept = {"labels": item["metadata"].get("labels"), "spec": item.get("spec")}
    return as_yaml({key: value for key, value in kept.items() if value}).splitlines()


def meaning(applied: Applied) -> list[str]:
    """What the change means for the users of a workflow; nothing for other kinds."""
    if applied.object["kind"] != "AgentWorkflow" or applied.operation == "unchanged":
        return []
    if applied.previous is None:
        return [
            f"new workflow: version {applied.object['spec']['version']} becomes stable at once, without stages"
        ]
    return list(_consequences(applied.previous, applied.object))


def _consequences(before: Object, after: Object) -> Iterator[str]:
    from sluicegate.console.describing import plan_table
    from sluicegate.contracts.digest import revision_digest
    from sluicegate.contracts.parsing import parse_data
    from sluicegate.contracts.resources import AgentWorkflow
    from sluicegate.rollout.planning import plan_stages
    from sluicegate.rollout.revisions import revision_name

    old, new = parse_data(_bare(before)), parse_data(_bare(after))
    if not isinstance(old, AgentWorkflow) or not isinstance(new, AgentWorkflow):
        raise TypeError(after["kind"])
    yield from _components(before["spec"], after["spec"])
    if revision_digest(old.spec) == revision_digest(new.spec):
        yield "no rollout: nothing that a run depends on changes"
        return
    stable = str((before.get("status") or {}).get("stableRevision") or "")
    wished = {
        revision_name(old.metadata.name, revision_digest(one.spec)): one.spec.version for one in (old, new)
    }
    if wished.get(stable) == new.spec.version:
        yield f"no rollout: {new.spec.version} is stable"
        return
    yield f"starts a rollout {wished.get(stable, stable) or old.spec.version} → {new.spec.version}:"
    yield plan_table([stage.to_json() for stage in plan_stages(new.spec)])


def _bare(item: Object) -> Object:
    return {key: value for key, value in item.items() if key != "status"}


def _components(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old = {one["name"]: one for one in before["components"]}
    new = {one["name"]: one for one in after["components"]}
    for name in old.keys() - new.keys():
        yield f"component {name}: removed"
    for name, one in new.items():
        if name not in old:
            yield f"component {name}: new, version {one['version']}"
        elif one != old[name]:
            changed = [key for key in sorted({*one, *old[name]}) if one.get(key) != old[name].get(key)]
            version = (
                f" {old[name]['version']} → {one['version']}"
                if one["version"] != old[name]["version"]
                else ""
            )
            fields = ", ".join(key for key in changed if key not in {"name", "version"})
            yield f"component {name}:{version}{' changes ' + fields if fields else ''}"
