"""The CRDs are golden files, made from the models."""

import pytest

from sluicegate.contracts.crds import definition, file_name, written
from sluicegate.contracts.resources import KINDS
from tests.support import golden

CRDS = golden.ROOT / "crds"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_crd_of_every_kind_is_as_committed(kind: str) -> None:
    made = definition(KINDS[kind])
    golden.check(CRDS / file_name(made), written(made))


def test_no_crd_is_left_over() -> None:
    assert {path.name for path in CRDS.glob("*.yaml")} == {
        file_name(definition(kind)) for kind in KINDS.values()
    }
