"""An exporter of its own for each test."""

import pytest

from sluicegate.observability.metrics import GatewayMetrics
from tests.observability.scraped import Scraped


@pytest.fixture
def scraped() -> Scraped:
    return Scraped()


@pytest.fixture
def gateway(scraped: Scraped) -> GatewayMetrics:
    return GatewayMetrics(scraped.registry)
