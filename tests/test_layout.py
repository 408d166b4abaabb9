"""The layout of the parts: one namespace, and a folder `operator` that does not hide the standard library's module."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PARTS = sorted(path.parent.name for path in ROOT.glob("*/src"))


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("part", PARTS)
def test_part_holds_exactly_one_package(part: str) -> None:
    source = ROOT / part / "src"
    assert not (ROOT / part / "__init__.py").exists()
    assert not (source / "sluicegate" / "__init__.py").exists()
    assert [path.name for path in source.iterdir() if path.name != "__pycache__"] == ["sluicegate"]
    assert [path.name for path in (source / "sluicegate").iterdir() if path.name != "__pycache__"] == [part]
    assert (source / "sluicegate" / part / "__init__.py").is_file()
    assert (source / "sluicegate" / part / "py.typed").is_file()


@pytest.mark.parametrize("part", PARTS)
def test_part_has_tests_and_a_page(part: str) -> None:
    assert (ROOT / part / "README.md").is_file()
    assert (ROOT / "tests" / part / "__init__.py").is_file()


def test_stdlib_operator_survives_in_the_repository_root() -> None:
    code = "import operator, collections, sluicegate.operator; print(operator.add(1, 1), operator.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    total, where = done.stdout.split()
    assert total == "2"
    assert not Path(where).is_relative_to(ROOT / "operator")


def test_pyproject_lists_every_part() -> None:
    """A part that is not listed is not importable in an editable install, or missing in the wheel, silently."""
    tools = project()["tool"]
    build = tools["hatch"]["build"]
    assert sorted(build["dev-mode-dirs"]) == [f"{part}/src" for part in PARTS]
    assert sorted(build["targets"]["wheel"]["packages"]) == [f"{part}/src/sluicegate" for part in PARTS]
    assert {f"{part}/src" for part in PARTS} <= set(tools["mypy"]["files"])
    assert {
        path.removeprefix("$MYPY_CONFIG_FILE_DIR/") for path in tools["mypy"]["mypy_path"].split(":")
    } == {f"{part}/src" for part in PARTS}
    assert sorted(tools["importlinter"]["root_packages"]) == [f"sluicegate.{part}" for part in PARTS]


def test_every_part_has_its_place_in_the_layers() -> None:
    (layers,) = [
        item["layers"] for item in project()["tool"]["importlinter"]["contracts"] if item["type"] == "layers"
    ]
    placed = [name.strip() for line in layers for name in line.split("|")]
    assert sorted(placed) == [f"sluicegate.{part}" for part in PARTS]


def test_every_test_folder_is_a_package() -> None:
    """Without all of them pytest takes tests/operator for the module `operator`."""
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_the_vocabulary_is_imported_fast() -> None:
    """Reading of help and versions must not pull in what only a check needs."""
    code = "import sys, sluicegate.contracts, sluicegate.contracts.errors; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    heavy = {"pydantic", "jsonschema_rs", "cel_expr_python", "yaml", "rapidfuzz", "numpy", "rfc8785"}
    assert heavy.isdisjoint(done.stdout.split())
