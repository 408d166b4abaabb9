"""Values against the contracts of components, for tests of the components themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.schemas import compile_schema
from sluicegate.contracts.suggestions import did_you_mean, listed

Side = Literal["input", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The contract of one component, or of a whole workflow."""

    name: str
    input: Any
    output: Any

    def accepts_input(self, value: Any) -> bool:
        """True, or AssertionError with every violation."""
        return self._holds("input", self.input, value)

    def accepts_output(self, value: Any) -> bool:
        """True, or AssertionError with every violation."""
        return self._holds("output", self.output, value)

    def refuses_input(self, value: Any) -> bool:
        """True, or AssertionError when the contract allows the value."""
        return self._breaks("input", self.input, value)

    def refuses_output(self, value: Any) -> bool:
        """True, or AssertionError when the contract allows the value."""
        return self._breaks("output", self.output, value)

    def _holds(self, side: Side, schema: Any, value: Any) -> bool:
        __tracebackhide__ = True
        check = compile_schema(schema)
        if check.is_valid(value):
            return True
        told = "\n".join(f"  {one.path}: {one.code}: {one.message}" for one in check.violations(value, side))
        raise AssertionError(f"the contract of {self.name} refuses this {side}:\n{told}")

    def _breaks(self, side: Side, schema: Any, value: Any) -> bool:
        __tracebackhide__ = True
        if compile_schema(schema).is_valid(value):
            raise AssertionError(f"the contract of {self.name} allows this {side}")
        return True


@dataclass(frozen=True, slots=True)
class Promises:
    """Of some workflows."""

    workflows: tuple[AgentWorkflow, ...]

    def __call__(self, component: str | None = None, *, workflow: str | None = None) -> Promise:
        """Of a component, or of a workflow itself when none is named. LookupError when it is not clear which."""
        names = [one.metadata.name for one in self.workflows]
        if workflow is not None and workflow not in names:
            raise LookupError(_unknown("workflow", workflow, names))
        chosen = [one for one in self.workflows if workflow in {None, one.metadata.name}]
        if component is None:
            return _only([_of_workflow(one) for one in chosen], "workflow")
        found = [
            Promise(
                name=f"{one.metadata.name}/{component}",
                input=part.contract.input,
                output=part.contract.output,
            )
            for one in chosen
            for part in one.spec.components
            if part.name == component
        ]
        if not found:
            known = [part.name for one in chosen for part in one.spec.components]
            raise LookupError(_unknown("component", component, known))
        return _only(found, "component")


def promises(files: Sequence[Path]) -> Promises:
    """Of the workflows in files. Raises Refused with every problem of every file."""
    from sluicegate.console.files import read
    from sluicegate.contracts.parsing import parse_data

    resources = map(parse_data, read(files))
    return Promises(tuple(one for one in resources if isinstance(one, AgentWorkflow)))


def _of_workflow(workflow: AgentWorkflow) -> Promise:
    contract = workflow.spec.contract
    return Promise(name=workflow.metadata.name, input=contract.input, output=contract.output)


def _only(found: list[Promise], what: str) -> Promise:
    if len(found) != 1:
        names = listed(one.name for one in found)
        raise LookupError(f"{len(found)} {what}s are meant: {names}; say which with workflow=…")
    return found[0]


def _unknown(what: str, name: str, known: list[str]) -> str:
    near = did_you_mean(name, known)
    return f"no {what} {name}; there are: {listed(dict.fromkeys(known))}" + (f"; {near}" if near else "")
