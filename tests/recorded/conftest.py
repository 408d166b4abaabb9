"""The recorded runs, read in place; what needs them is skipped, loudly, where they are absent."""

from pathlib import Path

import pytest

from sluicegate.console.recordings import Recording, load

FILE = Path(__file__).parents[3] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.json.gz"


@pytest.fixture(scope="session")
def tau_bench_file() -> Path:
    if not FILE.is_file():
        pytest.skip(f"the recorded runs are not there: {FILE} (see README, section Tests)")
    return FILE


@pytest.fixture(scope="session")
def tau_bench(tau_bench_file: Path) -> Recording:
    return load(tau_bench_file)
