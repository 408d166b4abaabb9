"""A Prometheus for tests: one for each process that runs tests, started when the first asks for it."""

from collections.abc import Iterator

import pytest

from tests.prometheus import binaries
from tests.prometheus.server import Prometheus


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A running Prometheus that scrapes nothing yet."""
    running = Prometheus(binaries.find(), tmp_path_factory.mktemp("prometheus"))
    try:
        running.start()
        yield running
    finally:
        running.stop()
