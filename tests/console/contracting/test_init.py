"""First contracts from recorded runs: they accept those runs, and refuse what is not like them at the right place."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.console.contracting import inferring, samples
from sluicegate.console.contracting.samples import Sample
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.schemas import SchemaCheck, compile_schema
from tests.console.conftest import Cli
from tests.support.golden import ROOT

DATA = ROOT.parent / "shared/data"
TAU = DATA / "tau-bench/gpt-4o-airline.json.gz"
NEMO = [DATA / f"nemo-gym/{name}.jsonl.gz" for name in ("workplace_assistant", "conversational_tool_use")]
recorded = pytest.mark.skipif(not DATA.is_dir(), reason=f"no recorded agent runs at {DATA}")


class Contracts:
    def __init__(self, *files: Path) -> None:
        self.samples = [sample for path in files for sample in samples.read(path)]
        self.components = {
            name: inferring.resource(name, seen, "care")
            for name, seen in inferring.infer(self.samples).items()
        }
        self.checks: dict[str, dict[str, SchemaCheck]] = {}
        for name, resource in self.components.items():
            parse_data(resource)  # it is an AgentComponent
            contract = resource["spec"]["versions"][0]["contract"]
            self.checks[name] = {side: compile_schema(contract[side]) for side in ("input", "output")}

    def refused(self, sample: Sample) -> list[str]:
        checks = self.checks[sample.component]
        sides = {"input": sample.input} | ({"output": sample.output} if sample.answered else {})
        return [
            violation.path
            for side, value in sides.items()
            if not checks[side].is_valid(value)
            for violation in checks[side].violations(value, side)
        ]


@pytest.fixture(scope="module")
def airline() -> Contracts:
    return Contracts(TAU)


@pytest.fixture(scope="module")
def gym() -> Contracts:
    return Contracts(*NEMO)


@recorded
@pytest.mark.recorded
def test_contracts_of_the_airline_accept_its_runs(airline: Contracts) -> None:
    """14 tools and 1,164 calls, as the data's README counts them."""
    tools = set(airline.components) - {samples.AGENT}
    assert (len(tools), sum(one.component in tools for one in airline.samples)) == (14, 1164)
    assert [one for one in airline.samples if airline.refused(one)] == []


@recorded
@pytest.mark.recorded
def test_contracts_of_the_gym_accept_its_runs(gym: Contracts) -> None:
    assert len(gym.components) > 15
    assert [one for one in gym.samples if gym.refused(one)] == []


GONE = object()
MUTATIONS: dict[str, tuple[str, str, tuple[Any, ...], Any, str]] = {
    "a flight without its date": ("search_direct_flight", "input", ("date",), GONE, "input/date"),
    "a date that is none": ("search_direct_flight", "input", ("date",), "next friday", "input/date"),
    "an origin that is a number": ("search_direct_flight", "input", ("origin",), 7, "input/origin"),
    "a renamed argument": ("get_user_details", "input", ("user_id",), GONE, "input/user_id"),
    "an unknown cabin": ("book_reservation", "input", ("cabin",), "first", "input/cabin"),
    "an unknown kind of flight": ("book_reservation", "input", ("flight_type",), "circle", "input/flight_type"),
    "flights that are no list": ("book_reservation", "input", ("flights",), {}, "input/flights"),
    "a flight without its number": ("book_reservation", "input", ("flights", 0, "flight_number"), GONE, "input/flights/*/flight_number"),
    "a passenger without a name": ("book_reservation", "input", ("passengers", 0, "last_name"), GONE, "input/passengers/*/last_name"),
    "a date of birth that is none": ("book_reservation", "input", ("passengers", 0, "dob"), "unknown", "input/passengers/*/dob"),
    "an amount as a text": ("book_reservation", "input", ("payment_methods", 0, "amount"), "305", "input/payment_methods/*/amount"),
    "bags as a text": ("update_reservation_baggages", "input", ("total_baggages",), "3", "input/total_baggages"),
    "half a bag": ("update_reservation_baggages", "input", ("nonfree_baggages",), 0.5, "input/nonfree_baggages"),
    "no expression": ("calculate", "input", ("expression",), None, "input/expression"),
    "a user without an email": ("get_user_details", "output", ("email",), GONE, "output/email"),
    "a name that is a text": ("get_user_details", "output", ("name",), "Omar Davis", "output/name"),
    "a reservation that is a number": ("get_reservation_details", "output", (), 17, "output"),
    "arguments that are a text": ("get_reservation_details", "input", (), '{"reservation_id": ""}', "input"),
    "a call of no tool": ("agent", "output", ("tool_calls", 0, "name"), "delete_everything", "output/tool_calls/*/name"),
    "a call without arguments": ("agent", "output", ("tool_calls", 0, "arguments"), GONE, "output/tool_calls/*/arguments"),
}  # fmt: skip


def mutated(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    whole = deepcopy(value)
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    if new is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return whole


def has(value: Any, path: tuple[Any, ...]) -> bool:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


@recorded
@pytest.mark.recorded
@pytest.mark.parametrize(
    ("component", "side", "path", "new", "told"), MUTATIONS.values(), ids=MUTATIONS.keys()
)
def test_a_run_that_is_not_like_them_is_refused_at_the_place(
    airline: Contracts, component: str, side: str, path: tuple[Any, ...], new: Any, told: str
) -> None:
    sample = next(
        one for one in airline.samples if one.component == component and has(getattr(one, side), path or ()) and isinstance(getattr(one, side), dict)
    )  # fmt: skip
    given = {"component": component, "input": sample.input, "output": sample.output}
    given[side] = mutated(given[side], path, new)
    assert airline.refused(Sample(**given)) == [told]


@recorded
@pytest.mark.recorded
def test_arguments_that_contradict_the_gyms_tools_are_refused(gym: Contracts) -> None:
    calls = [one for one in gym.samples if one.component != samples.AGENT and one.input]
    for call in calls:
        field = min(call.input)
        changed = Sample(component=call.component, input=call.input | {field: ["?"]}, answered=False)
        assert gym.refused(changed)[0].startswith(f"input/{field}")


OWN = {
    "run_id": "r",
    "steps": [
        {
            "component": "planner",
            "request": {"q": "a"},
            "response": {"intent": "track"},
            "outcome": "Succeeded",
        },
        {"component": "planner", "request": {"q": "b"}, "response": {"intent": 1}, "outcome": "Fallback"},
    ],
}


def test_own_runs_say_what_a_component_answered_itself(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([OWN]))
    told = cli("contract", "init", str(file), "--owner", "care")
    (component,) = yaml.safe_load_all(told.out)
    assert component["spec"]["versions"][0]["contract"]["output"]["properties"] == {
        "intent": {"type": "string"}
    }
    assert "planner" in told.err


def test_an_answer_belongs_to_the_call_that_it_names(tmp_path: Path) -> None:
    calls = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in ("first", "second")]
    answers = [
        {"role": "tool", "tool_call_id": name, "content": f'{{"of": "{name}"}}'}
        for name in ("second", "first")
    ]
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([{"traj": [{"role": "assistant", "tool_calls": calls}, *answers]}]))
    told = {one.component: one.output for one in samples.read(file) if one.component != samples.AGENT}
    assert told == {"first": {"of": "first"}, "second": {"of": "second"}}


def test_two_tools_never_share_a_name() -> None:
    found = inferring.infer(
        [Sample(component=name, input={}) for name in ("get_user", "get-user", "Get User")]
    )
    names = [one["metadata"]["name"] for one in inferring.resources(found, "care")]
    assert sorted(names) == ["get-user", "get-user-2", "get-user-3"]


BAD: dict[str, tuple[str, str]] = {
    "no JSON": ('{"steps": []}\n{', ":2"),
    "no calls": ('{"steps": []}', "holds no call"),
    "nested too deep": ('{"steps": ' + "[" * 200 + "]" * 200 + "}", "nested too deep"),
    "another format": ('{"a": 1}', "tau-bench, responses, runs"),
}


@pytest.mark.parametrize(("content", "told"), BAD.values(), ids=BAD.keys())
def test_a_file_that_is_no_recording_is_told(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "runs.json"
    file.write_text(content)
    with pytest.raises(Refused, match=told):
        samples.read(file)
