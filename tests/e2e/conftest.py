"""One `up` and one component server for the tests that need no life of their own."""

from collections.abc import Iterator

import pytest

from tests.e2e import life
from tests.operator.up import Up, component_server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with component_server() as base:
        yield base


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with life.running(Up(tmp_path_factory.mktemp("state") / "s", workers=2)) as up:
        yield up
