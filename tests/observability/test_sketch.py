"""The quantile sketch against exact order statistics."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.observability.sketch import ACCURACY, Sketch
from tests.observability.simulation import Array

QUANTILES = (0.01, 0.5, 0.9, 0.95, 0.99, 1.0)


def sketched(values: list[float]) -> Sketch:
    sketch = Sketch()
    for value in values:
        sketch.add(value)
    return sketch


def shapes() -> dict[str, Array]:
    generator = np.random.default_rng(11)
    return {
        "log-normal around 2 s": generator.lognormal(math.log(2000), 0.6, 5000),
        "two humps": np.concatenate([generator.normal(1500, 50, 4000), generator.normal(9000, 500, 1000)]),
        "a spike": np.full(100, 3200.0),
        "six decades": 10 ** generator.uniform(-2, 4, 3000),
        "59 values": generator.exponential(250, 59),
    }


@pytest.mark.parametrize("name", sorted(shapes()))
def test_quantiles_are_within_one_percent_of_the_order_statistic(name: str) -> None:
    values = shapes()[name]
    sketch = sketched(values.tolist())
    for q in QUANTILES:
        exact = np.quantile(values, q, method="inverted_cdf")  # the value of rank ceil(q n)
        assert sketch.quantile(q) == pytest.approx(exact, rel=ACCURACY * 1.0001), (name, q)


@given(
    st.lists(st.lists(st.floats(0.0, 1e7), max_size=20), max_size=6),
    st.data(),
)
def test_merging_in_any_order_equals_one_sketch(parts: list[list[float]], data: st.DataObject) -> None:
    whole = sketched([value for part in parts for value in part])
    merged = Sketch()
    for part in data.draw(st.permutations(parts)):
        merged.merge(sketched(part))
    assert merged.to_json() == whole.to_json()


@given(st.lists(st.floats(0.0, 1e12), max_size=40))
def test_state_survives_json(values: list[float]) -> None:
    sketch = sketched(values)
    loaded = Sketch.from_json(json.loads(json.dumps(sketch.to_json())))
    assert loaded.to_json() == sketch.to_json()
    assert loaded.quantile(0.95) == sketch.quantile(0.95)


def test_no_values_no_quantile() -> None:
    assert Sketch().quantile(0.95) is None


def test_size_is_bounded_whatever_comes() -> None:
    exponents = np.linspace(-300, 300, 20_000)
    sketch = sketched([*(10.0**exponents).tolist(), 0.0])
    assert len(sketch.to_json()["buckets"]) <= 1383
    assert sketch.n == 20_001


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_a_value_that_is_no_latency_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        sketched([value])


@pytest.mark.parametrize("q", [0.0, -0.1, 1.1, math.nan])
def test_a_quantile_outside_its_range_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="quantile"):
        Sketch().quantile(q)
