"""One `up` and one component server for the tests that need no life of their own."""

from collections.abc import Iterator

import pytest

from tests.operator.up import Up, component_server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with component_server() as base:
        yield base


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    running = Up(tmp_path_factory.mktemp("state") / "s", workers=2)
    try:
        running.start()
        yield running
        assert running.stop() == 0
    finally:
        running.kill()
    assert "Traceback" not in running.logs()
