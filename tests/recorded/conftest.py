"""The recorded runs, read in place; what needs them is skipped, loudly, where they are absent."""

from pathlib import Path

import pytest

from sluicegate.console.recordings import Recording, load

FILE = Path(__file__).parents[3] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.json.gz"


@pytest.fixture(scope="session")
def tau_bench_file() -> Path:
    if not FILE.is_file():
        source = (
            "historical_trajectories/gpt-4o-airline.json of github.com/sierra-research/tau-bench, gzipped"
        )
        pytest.skip(f"NOT TESTED on recorded agents: {FILE} is absent ({source})")
    return FILE


@pytest.fixture(scope="session")
def tau_bench(tau_bench_file: Path) -> Recording:
    return load(tau_bench_file)
